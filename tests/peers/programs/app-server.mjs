// A server with apps: one that behaves, and the same at its worst. Its one page does what the argument `how` of its tool
// says. It has tools with a page only for clients that declare that they show apps, and declares an extension that nobody
// can use. It speaks MCP 2025-06-18 over standard streams, without an SDK.
//
//   node app-server.mjs

import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';

const PAGE = 'ui://tests/app';
const page = readFileSync(new URL('./app-page.html', import.meta.url), 'utf8');
const TYPE = 'text/html;profile=mcp-app';
const how = { type: 'object', properties: { how: { type: 'string' } } };
const ui = { resourceUri: PAGE };

const UI = 'io.modelcontextprotocol/ui';
/** Whether the client shows apps. */
let showsApps = false;
/** What the page declares; the tool `declare` changes it. */
let declared = {};
/** Calls of `for-app`. */
let pressed = 0;

const tools = [
  { name: 'behave', inputSchema: how, _meta: { ui } },
  { name: 'behave-old', inputSchema: how, _meta: { 'ui/resourceUri': PAGE } },
  { name: 'wait', inputSchema: how, _meta: { ui } },
  { name: 'text', inputSchema: how, _meta: { ui: { resourceUri: 'ui://tests/text' } } },
  { name: 'declare', inputSchema: { type: 'object', properties: { meta: { type: 'string' } } } },
  { name: 'for-app', inputSchema: { type: 'object' }, _meta: { ui: { visibility: ['app'] } } },
  { name: 'for-model', inputSchema: { type: 'object' }, _meta: { ui: { visibility: ['model'] } } },
  { name: 'erase', inputSchema: { type: 'object' } },
];

const text = (said) => ({ content: [{ type: 'text', text: said }] });

const methods = {
  initialize({ capabilities }) {
    showsApps = capabilities?.extensions?.[UI] !== undefined;
    return {
      protocolVersion: '2025-06-18', serverInfo: { name: 'apps', version: '1' },
      capabilities: { tools: {}, resources: {}, extensions: { [UI]: {}, 'vendor.example/odd': 7 } },
    };
  },
  ping: () => ({}),
  'tools/list': () => ({ tools: tools.filter(({ _meta }) => showsApps || !_meta) }),
  'resources/list': () => ({ resources: [{ uri: 'note://one', name: 'note' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read'({ uri }) {
    if (uri === PAGE) return { contents: [{ uri, mimeType: TYPE, text: page, _meta: { ui: declared } }] };
    if (uri === 'ui://tests/text') return { contents: [{ uri, mimeType: 'text/plain', text: 'no app' }] };
    if (uri === 'note://one') return { contents: [{ uri, mimeType: 'text/plain', text: 'the note' }] };
    throw { code: -32002, message: 'no such resource' };
  },
  'tools/call'({ name, arguments: args = {} }) {
    if (name === 'declare') {
      declared = JSON.parse(args.meta);
      return text('declared');
    }
    if (name === 'for-app') return text(`pressed ${++pressed} times`);
    if (name === 'wait') return undefined;
    return { ...text(`${name} was called`), structuredContent: { how: args.how ?? '' } };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = (rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...rest })}\n`);
  try {
    if (!Object.hasOwn(methods, method)) throw { code: -32601, message: `no method ${method}` };
    const result = methods[method](params);
    if (result !== undefined) answer({ result });
  } catch ({ code = -32603, message }) {
    answer({ error: { code, message } });
  }
}
