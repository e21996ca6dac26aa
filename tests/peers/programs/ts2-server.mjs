// A server on the TypeScript SDK 2.x that speaks MCP 2026-07-28 and refuses anything older.
//
//   node ts2-server.mjs stdio [--both]
//   node ts2-server.mjs http PORT [--both]     0 lets the system choose the port
//
// With --both it answers legacy clients too. SWITCHBOARD_PEERS names the folder that
// `cargo xtask peers` prints: the packages live there, not beside this file.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

const peers = process.env.SWITCHBOARD_PEERS;
if (!peers) {
  console.error('SWITCHBOARD_PEERS is not set: run cargo xtask test');
  process.exit(2);
}
const require = createRequire(`${peers}/npm/package.json`);
const { McpServer, ResourceTemplate, acceptedContent, completable, createMcpHandler, inputRequired } =
  require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const { localhostHostValidation, localhostOriginValidation, toNodeHandler } =
  require('@modelcontextprotocol/node');
const z = require('zod');

// How subscribers hear of a change; HTTP has a server for each request and replaces this.
let announce = (server, uri) => server.server.sendResourceUpdated({ uri });

const NAMES = ['Ada', 'Alan', 'Grace'];
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const note = (uri, value) => ({ contents: [{ uri, mimeType: 'text/plain', text: value }] });

function addTools(server) {
  server.registerTool(
    'add',
    { description: 'Adds two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => text(String(a + b)),
  );

  // In steps, each with a progress notification where the caller gave a token.
  const slow = z.object({ ms: z.number(), steps: z.number().default(10) });
  server.registerTool(
    'slow',
    { description: 'Takes its time, in steps', inputSchema: slow },
    async ({ ms, steps }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= steps; progress++) {
        await sleep(ms / steps, undefined, { signal: mcpReq.signal });
        if (progressToken === undefined) continue;
        const params = { progressToken, progress, total: steps, message: `step ${progress}` };
        await mcpReq.notify({ method: 'notifications/progress', params });
      }
      return text(`waited ${ms} ms`);
    },
  );

  server.registerTool('touch', { description: 'Says that the note has changed' }, async () => {
    await announce(server, 'note://hello');
    return text('touched');
  });

  // Modern elicitation: the first answer is `input_required`, the retry carries the name.
  const who = z.object({ name: z.string() });
  server.registerTool('ask', { description: 'Asks for a name, then greets' }, ({ mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, 'who', who);
    if (answer) return text(`Hello, ${answer.name}!`);
    if (mcpReq.inputResponses?.who) return text('Nobody to greet.');
    const elicit = inputRequired.elicit({ message: 'What is your name?', requestedSchema: who });
    return inputRequired({ inputRequests: { who: elicit } });
  });
}

function addResources(server) {
  const plain = { mimeType: 'text/plain' };
  server.registerResource('hello', 'note://hello', { description: 'A note', ...plain }, (uri) =>
    note(uri.href, 'hello'),
  );
  const template = new ResourceTemplate('note://{name}', { list: undefined });
  server.registerResource('note', template, { description: 'Any note', ...plain }, (uri, { name }) =>
    note(uri.href, `a note named ${name}`),
  );
}

function addPrompts(server) {
  const startsLike = (value) => NAMES.filter((name) => name.startsWith(value));
  server.registerPrompt(
    'greet',
    { description: 'A greeting', argsSchema: z.object({ name: completable(z.string(), startsLike) }) },
    ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Please greet ${name}.` } }],
    }),
  );
}

function build() {
  const capabilities = { resources: { subscribe: true } };
  const server = new McpServer({ name: 'ts2-server', version: '1.0.0' }, { capabilities });
  addTools(server);
  addResources(server);
  addPrompts(server);
  return server;
}

function serveHttp(port, legacy) {
  const handler = createMcpHandler(build, { legacy: legacy ? 'stateless' : 'reject' });
  announce = (_server, uri) => handler.notify.resourceUpdated(uri);
  const handle = toNodeHandler(handler);
  const validHost = localhostHostValidation();
  const validOrigin = localhostOriginValidation();
  const server = createServer((req, res) => {
    if (validHost(req, res) && validOrigin(req, res)) void handle(req, res);
  });
  server.listen(port, '127.0.0.1', () => {
    console.error(`listening http://127.0.0.1:${server.address().port}/mcp`);
  });
}

const [transport, port] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const both = process.argv.includes('--both');
if (transport === 'stdio') {
  serveStdio(build, { legacy: both ? 'serve' : 'reject' });
} else if (transport === 'http') {
  serveHttp(Number(port ?? 0), both);
} else {
  console.error('usage: ts2-server.mjs stdio | http PORT [--both]');
  process.exit(2);
}
