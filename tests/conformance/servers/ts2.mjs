// The tools, prompts and resources that the official conformance suite looks for, on the TypeScript SDK 2.x, which speaks
// both eras. Written as the examples of that SDK are: a factory for servers; for legacy clients the back channel of a
// session (`ctx.mcpReq.elicitInput`, `ctx.mcpReq.requestSampling`), for modern ones `inputRequired`.
//
//   node ts2.mjs http|stdio
//
// Over HTTP it prints `listening http://127.0.0.1:PORT/mcp` on stderr; the system chooses the port.

import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  answers, complete, contents, form, forms, image, messages, require, resource, schema202012, text,
} from './content.mjs';

const {
  CLIENT_CAPABILITIES_META_KEY, McpServer, ResourceTemplate, WebStandardStreamableHTTPServerTransport, completable,
  createMcpHandler, createRequestStateCodec, fromJsonSchema, inputRequired, inputResponse, isInitializeRequest,
  isLegacyRequest,
} = require('@modelcontextprotocol/server');
const { SkillsExtension, memorySkillFiles } = require('@modelcontextprotocol/server/ext/skills');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const { localhostHostValidation, localhostOriginValidation, toNodeHandler } = require('@modelcontextprotocol/node');
const z = require('zod');

const PAUSE_MS = 50;
// Longer than a gateway waits before it makes a stream of its answer.
const LONG_PAUSE_MS = 1000;
const states = createRequestStateCodec({ key: randomBytes(32) });
const skills = await SkillsExtension.load(
  memorySkillFiles({
    'greeting/SKILL.md':
      '---\nname: greeting\ndescription: How to greet\n---\n\nSay hello. See [tone](references/tone.md).\n',
    'greeting/references/tone.md': 'Friendly, and short.\n',
  }),
);
const say = (value) => ({ content: [text(value)] });
const sayAnswer = (answer) => say(JSON.stringify(answer));

// How modern subscribers hear of a change; HTTP has a server for each request and replaces it.
let announce = {
  toolsChanged: (mcp) => mcp.sendToolListChanged(),
  promptsChanged: (mcp) => mcp.sendPromptListChanged(),
};

function addSimpleTools(mcp) {
  for (const [name, [description, content]] of Object.entries(answers)) {
    mcp.registerTool(name, { description }, () => ({ content }));
  }
  mcp.registerTool('test_error_handling', { description: 'Fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  const header = z.object({ value: z.string().meta({ 'x-mcp-header': 'Value' }) });
  mcp.registerTool(
    'test_custom_header',
    { description: 'Says a value that travels in a header too', inputSchema: header },
    ({ value }) => say(value),
  );
  mcp.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Has many keywords', inputSchema: fromJsonSchema(schema202012) },
    () => say('the schema is what matters'),
  );
}

function addTalkingTools(mcp) {
  mcp.registerTool('test_tool_with_logging', { description: 'Logs three times' }, async ({ mcpReq }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', data);
      await sleep(PAUSE_MS);
    }
    return say('logged three times');
  });
  mcp.registerTool('test_logging_tool', { description: 'Logs for clients that asked' }, async ({ mcpReq }) => {
    await mcpReq.log('info', 'only for clients that asked');
    return say('logged');
  });
  mcp.registerTool('test_tool_with_progress', { description: 'Reports progress' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      const params = { progressToken, progress, total: 100, message: `${progress} of 100` };
      await mcpReq.notify({ method: 'notifications/progress', params });
      await sleep(PAUSE_MS);
    }
    return say('made progress three times');
  });
  mcp.registerTool('test_reconnection', { description: 'Closes its stream and answers later' }, async ({ http }) => {
    http?.closeSSE?.();
    await sleep(LONG_PAUSE_MS);
    return say('Reconnection test completed successfully');
  });
  mcp.registerTool('test_trigger_tool_change', { description: 'Announces that the tools changed' }, async () => {
    await announce.toolsChanged(mcp);
    return say('announced');
  });
  mcp.registerTool('test_trigger_prompt_change', { description: 'Announces that the prompts changed' }, async () => {
    await announce.promptsChanged(mcp);
    return say('announced');
  });
}

// Over the back channel of a legacy session.
function addLegacyQuestions(mcp) {
  const elicit = async ({ mcpReq }, message, requestedSchema) =>
    sayAnswer(await mcpReq.elicitInput({ mode: 'form', message, requestedSchema }));
  const prompt = z.object({ prompt: z.string() });
  mcp.registerTool('test_sampling', { description: "Asks the client's model", inputSchema: prompt }, async (args, ctx) =>
    sayAnswer(await ctx.mcpReq.requestSampling(sampling(args.prompt, 100))),
  );
  const message = z.object({ message: z.string() });
  mcp.registerTool('test_elicitation', { description: 'Asks for a name', inputSchema: message }, (args, ctx) =>
    elicit(ctx, args.message, forms.contact),
  );
  mcp.registerTool('test_elicitation_sep1034_defaults', { description: 'Asks with defaults' }, (ctx) =>
    elicit(ctx, 'Please review', forms.defaults),
  );
  mcp.registerTool('test_elicitation_sep1330_enums', { description: 'Asks with choices' }, (ctx) =>
    elicit(ctx, 'Please choose', forms.enums),
  );
}

const sampling = (prompt, maxTokens) => ({ messages: [{ role: 'user', content: text(prompt) }], maxTokens });
const elicit = (message, requestedSchema) => inputRequired.elicit({ message, requestedSchema });
const NAME = ['elicit', elicit('What is your name?', form('name', 'string'))];
const COLOUR = ['elicit', elicit('Step 2: What is your favorite color?', form('color', 'string'))];
const CONFIRM = ['elicit', elicit('Please confirm', form('ok', 'boolean'))];
const CONTEXT = ['elicit', elicit('What context should the prompt use?', form('context', 'string'))];
const CAPITAL = ['sampling', inputRequired.createMessage(sampling('What is the capital of France?', 100))];
const GREETING = ['sampling', inputRequired.createMessage(sampling('Generate a greeting', 50))];
const ROOTS = ['roots', inputRequired.listRoots()];

// Asks until every question has an answer of its kind; then `done` makes the result of the answers and the state.
async function ask({ mcpReq }, questions, state, done = (...parts) => say(parts.join(' '))) {
  const views = Object.entries(questions).map(([key, [kind]]) => [kind, inputResponse(mcpReq.inputResponses, key)]);
  const answered = views.every(([kind, view]) => view.kind === kind);
  if (answered && mcpReq.requestState() === state) return done(...views.map(([, view]) => JSON.stringify(view)), state);
  const inputRequests = Object.fromEntries(Object.entries(questions).map(([key, [, request]]) => [key, request]));
  return inputRequired({ inputRequests, ...(state && { requestState: await states.mint(state) }) });
}

function addModernQuestions(mcp) {
  const add = (name, description, run) => mcp.registerTool(name, { description }, run);
  add('test_input_required_result_elicitation', 'Asks for a name', (ctx) => ask(ctx, { user_name: NAME }));
  add('test_streaming_elicitation', 'Asks for a name', (ctx) => ask(ctx, { user_name: NAME }));
  add('test_input_required_result_sampling', "Asks the client's model", (ctx) => ask(ctx, { capital_question: CAPITAL }));
  add('test_input_required_result_list_roots', 'Asks for roots', (ctx) => ask(ctx, { client_roots: ROOTS }));
  add('test_input_required_result_request_state', 'Asks, and keeps a state', (ctx) =>
    ask(ctx, { confirm: CONFIRM }, 'state-ok'),
  );
  add('test_input_required_result_tampered_state', 'Refuses a state that was altered', (ctx) =>
    ask(ctx, { confirm: CONFIRM }, 'intact'),
  );
  add('test_input_required_result_multiple_inputs', 'Asks three things at once', (ctx) =>
    ask(ctx, { user_name: NAME, greeting: GREETING, client_roots: ROOTS }, 'all'),
  );
  add('test_input_required_result_multi_round', 'Asks one thing after another', (ctx) => {
    const first = inputResponse(ctx.mcpReq.inputResponses, 'step1').kind === 'elicit';
    const state = ctx.mcpReq.requestState();
    if (state === 'second' || (state === 'first' && first)) return ask(ctx, { step2: COLOUR }, 'second');
    return ask(ctx, { step1: NAME }, 'first');
  });
  add('test_input_required_result_capabilities', 'Asks what the client can be asked', (ctx) => {
    const able = ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? mcp.server.getClientCapabilities() ?? {};
    const questions = { ...(able.elicitation && { user_name: NAME }), ...(able.sampling && { greeting: GREETING }) };
    return Object.keys(questions).length ? ask(ctx, questions) : say('nothing to ask');
  });
  // The SDK refuses the question to a client that cannot sample.
  add('test_missing_capability', 'Needs a client that can sample', (ctx) => ask(ctx, { greeting: GREETING }));
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
  const two = z.object({ arg1: completable(z.string(), complete), arg2: z.string() });
  mcp.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with two arguments', argsSchema: two },
    ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  mcp.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt that carries a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) =>
      messages(
        resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  );
  mcp.registerPrompt('test_prompt_with_image', { description: 'A prompt that carries an image' }, () =>
    messages(image(), text('Please analyze the image above.')),
  );
  mcp.registerPrompt('test_input_required_result_prompt', { description: 'A prompt that asks' }, (ctx) =>
    ask(ctx, { user_context: CONTEXT }, undefined, (answer) => messages(text(`Use this: ${answer}`))),
  );
}

function build() {
  const capabilities = {
    logging: {},
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    tools: { listChanged: true },
  };
  const options = { capabilities, requestState: { verify: states.verify } };
  const mcp = new McpServer({ name: 'conformance-ts2', version: '1.0.0' }, options);
  addSimpleTools(mcp);
  addTalkingTools(mcp);
  addLegacyQuestions(mcp);
  addModernQuestions(mcp);
  addResources(mcp);
  addPrompts(mcp);
  skills.attach(mcp);
  // `McpServer` has no subscriptions of legacy clients; the server beneath it takes them.
  mcp.server.setRequestHandler('resources/subscribe', () => ({}));
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}));
  return mcp;
}

// The events of a session's streams, so that a client can resume one.
class Events {
  #events = [];

  async storeEvent(stream, message) {
    this.#events.push({ stream, message });
    return String(this.#events.length);
  }

  async replayEventsAfter(last, { send }) {
    const { stream } = this.#events[last - 1];
    for (const [index, event] of this.#events.entries()) {
      const said = event.message && Object.keys(event.message).length > 0;
      if (index >= last && event.stream === stream && said) await send(String(index + 1), event.message);
    }
    return stream;
  }
}

function refuse(status, code, message) {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

// Legacy clients have sessions: what the SDK offers them without needs no back channel, and has none.
function legacySessions() {
  const sessions = new Map();
  const open = async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: new Events(),
      retryInterval: 500,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await build().connect(transport);
    return transport;
  };
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (id && !sessions.has(id)) return refuse(404, -32001, 'Session not found');
    const parsedBody = request.method === 'POST' ? await request.json().catch(() => undefined) : undefined;
    if (!id && !isInitializeRequest(parsedBody)) return refuse(400, -32000, 'Bad Request: no session');
    const transport = sessions.get(id) ?? (await open());
    return transport.handleRequest(request, { parsedBody });
  };
}

function serveHttp() {
  const modern = createMcpHandler(build, { legacy: 'reject' });
  const legacy = legacySessions();
  announce = modern.notify;
  const handle = toNodeHandler({
    fetch: async (request, options) =>
      (await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request, options),
  });
  const validHost = localhostHostValidation();
  const validOrigin = localhostOriginValidation();
  const listener = createServer((req, res) => {
    if (validHost(req, res) && validOrigin(req, res)) void handle(req, res);
  });
  listener.listen(0, '127.0.0.1', () => {
    console.error(`listening http://127.0.0.1:${listener.address().port}/mcp`);
  });
}

switch (process.argv[2]) {
  case 'http':
    serveHttp();
    break;
  case 'stdio':
    serveStdio(build, { legacy: 'serve' });
    break;
  default:
    console.error('usage: ts2.mjs http|stdio');
    process.exit(2);
}
