// The tools, prompts and resources that the official conformance suite looks for, on the TypeScript SDK 1.x, which
// speaks the legacy protocol only. Written as the examples of that SDK are: `registerTool` and its like, and for
// questions `server.elicitInput` and `server.createMessage`, which over HTTP arrive on the stream of the session's GET,
// or `extra.sendRequest`, which stays on the stream of the call.
//
//   node ts1.mjs http|stdio
//
// Over HTTP it prints `listening http://127.0.0.1:PORT/mcp` on stderr; the system chooses the port.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  answers, complete, contents, forms, image, messages, require, resource, schema202012, text,
} from './content.mjs';

const { McpServer, ResourceTemplate } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { completable } = require('@modelcontextprotocol/sdk/server/completable.js');
const { createMcpExpressApp } = require('@modelcontextprotocol/sdk/server/express.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { InMemoryEventStore } = require('@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js');
const {
  ElicitResultSchema, SubscribeRequestSchema, UnsubscribeRequestSchema, isInitializeRequest,
} = require('@modelcontextprotocol/sdk/types.js');
const z = require('zod');

const PAUSE_MS = 50;
// Longer than a gateway waits before it makes a stream of its answer.
const LONG_PAUSE_MS = 1000;
const say = (value) => ({ content: [text(value)] });
const sayAnswer = (answer) => say(JSON.stringify(answer));

function addSimpleTools(mcp) {
  for (const [name, [description, content]] of Object.entries(answers)) {
    mcp.registerTool(name, { description }, () => ({ content }));
  }
  mcp.registerTool('test_error_handling', { description: 'Fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  // Zod writes the keywords it does not know from the metadata.
  const inputSchema = z.looseObject({}).meta(schema202012);
  mcp.registerTool('json_schema_2020_12_tool', { description: 'Has many keywords', inputSchema }, () =>
    say('the schema is what matters'),
  );
}

function addTalkingTools(mcp) {
  mcp.registerTool('test_tool_with_logging', { description: 'Logs three times' }, async (extra) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcp.sendLoggingMessage({ level: 'info', data }, extra.sessionId);
      await sleep(PAUSE_MS);
    }
    return say('logged three times');
  });
  mcp.registerTool('test_tool_with_progress', { description: 'Reports progress three times' }, async (extra) => {
    const progressToken = extra._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      const params = { progressToken, progress, total: 100, message: `${progress} of 100` };
      await extra.sendNotification({ method: 'notifications/progress', params });
      await sleep(PAUSE_MS);
    }
    return say('made progress three times');
  });
  mcp.registerTool('test_reconnection', { description: 'Closes its stream and answers later' }, async (extra) => {
    extra.closeSSEStream?.();
    await sleep(LONG_PAUSE_MS);
    return say('Reconnection test completed successfully');
  });
}

// `listening` resolves when the client reads the session's stream: a question that is sent earlier is lost.
function addAskingTools(mcp, listening) {
  const elicit = async (message, requestedSchema) => {
    await listening;
    return mcp.server.elicitInput({ mode: 'form', message, requestedSchema });
  };
  const sample = async (prompt, maxTokens) => {
    await listening;
    return mcp.server.createMessage({ messages: [{ role: 'user', content: text(prompt) }], maxTokens });
  };
  const prompt = { prompt: z.string().describe('What to ask') };
  mcp.registerTool('test_sampling', { description: "Asks the client's model", inputSchema: prompt }, async (args) =>
    sayAnswer(await sample(args.prompt, 100)),
  );
  const message = { message: z.string().describe('What to ask') };
  mcp.registerTool('test_elicitation', { description: 'Asks for a name', inputSchema: message }, async (args) =>
    sayAnswer(await elicit(args.message, forms.contact)),
  );
  mcp.registerTool('test_elicitation_sep1034_defaults', { description: 'Asks with defaults' }, async () =>
    sayAnswer(await elicit('Please review', forms.defaults)),
  );
  mcp.registerTool('test_elicitation_sep1330_enums', { description: 'Asks with choices' }, async (extra) => {
    const params = { mode: 'form', message: 'Please choose', requestedSchema: forms.enums };
    return sayAnswer(await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema));
  });
}

function addResources(mcp) {
  const add = (name, uri, mimeType, read) =>
    mcp.registerResource(name, uri, { description: `The ${name} resource`, mimeType }, (at) => ({
      contents: [read(at.href)],
    }));
  add('static-text', 'test://static-text', 'text/plain', contents.text);
  add('static-binary', 'test://static-binary', 'image/png', contents.binary);
  add('watched', 'test://watched-resource', 'text/plain', contents.watched);
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  const metadata = { description: 'Data by id', mimeType: 'application/json' };
  mcp.registerResource('template', template, metadata, (uri, { id }) => ({
    contents: [contents.template(uri.href, id)],
  }));
}

function addPrompts(mcp) {
  mcp.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments' }, () =>
    messages(text('This is a simple prompt for testing.')),
  );
  const two = { arg1: completable(z.string(), complete), arg2: z.string() };
  mcp.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with two arguments', argsSchema: two },
    ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  mcp.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt that carries a resource', argsSchema: { resourceUri: z.string() } },
    ({ resourceUri }) =>
      messages(
        resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  );
  mcp.registerPrompt('test_prompt_with_image', { description: 'A prompt that carries an image' }, () =>
    messages(image(), text('Please analyze the image above.')),
  );
}

// `McpServer` has no subscriptions; the server beneath it takes them.
function addSubscriptions(mcp) {
  mcp.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  mcp.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
}

function build(listening) {
  const capabilities = { logging: {}, resources: { subscribe: true } };
  const mcp = new McpServer({ name: 'conformance-ts1', version: '1.0.0' }, { capabilities });
  addSimpleTools(mcp);
  addTalkingTools(mcp);
  addAskingTools(mcp, listening);
  addResources(mcp);
  addPrompts(mcp);
  addSubscriptions(mcp);
  return mcp;
}

function refuse(res, status, code, message) {
  res.status(status).json({ jsonrpc: '2.0', error: { code, message }, id: null });
}

// A server and a transport for each session.
async function open(sessions) {
  const listening = Promise.withResolvers();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: new InMemoryEventStore(),
    retryInterval: 500,
    onsessioninitialized: (id) => sessions.set(id, { transport, listening }),
  });
  transport.onclose = () => sessions.delete(transport.sessionId);
  await build(listening.promise).connect(transport);
  return { transport, listening };
}

function serveHttp() {
  const app = createMcpExpressApp();
  const sessions = new Map();
  app.all('/mcp', async (req, res) => {
    const id = req.headers['mcp-session-id'];
    if (id && !sessions.has(id)) return refuse(res, 404, -32001, 'Session not found');
    if (!id && !isInitializeRequest(req.body)) return refuse(res, 400, -32000, 'Bad Request: no session');
    const { transport, listening } = sessions.get(id) ?? (await open(sessions));
    const handled = transport.handleRequest(req, res, req.body);
    // The transport registers the stream of a GET before the event loop turns, and is done when the stream ends.
    if (req.method === 'GET') setImmediate(listening.resolve);
    await handled;
  });
  const listener = app.listen(0, '127.0.0.1', () => {
    console.error(`listening http://127.0.0.1:${listener.address().port}/mcp`);
  });
}

switch (process.argv[2]) {
  case 'http':
    serveHttp();
    break;
  case 'stdio':
    await build(Promise.resolve()).connect(new StdioServerTransport());
    break;
  default:
    console.error('usage: ts1.mjs http|stdio');
    process.exit(2);
}
