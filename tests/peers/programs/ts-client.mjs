// A client on the TypeScript SDK that lists and calls the tools of one server, and says what it saw as JSON.
//
//   node ts-client.mjs 1 stdio PROGRAM ARGS…     the SDK's first line, which speaks the legacy era
//   node ts-client.mjs 2 http URL                its second line, which finds out
//   node ts-client.mjs 1 sse|ws URL
//
// SWITCHBOARD_PEERS names the folder that `cargo xtask peers` prints: the packages live there.

import { createRequire } from 'node:module';

const peers = process.env.SWITCHBOARD_PEERS;
if (!peers) {
  console.error('SWITCHBOARD_PEERS is not set: run cargo xtask test');
  process.exit(2);
}
const require = createRequire(`${peers}/npm/package.json`);
const [line, transport, target, ...args] = process.argv.slice(2);

function first() {
  const sdk = '@modelcontextprotocol/sdk/client';
  const { Client } = require(`${sdk}/index.js`);
  const made = {
    stdio: () => new (require(`${sdk}/stdio.js`).StdioClientTransport)({ command: target, args, env: process.env }),
    http: () => new (require(`${sdk}/streamableHttp.js`).StreamableHTTPClientTransport)(new URL(target)),
    sse: () => new (require(`${sdk}/sse.js`).SSEClientTransport)(new URL(target)),
    ws: () => new (require(`${sdk}/websocket.js`).WebSocketClientTransport)(new URL(target)),
  };
  return [new Client({ name: 'ts-client', version: '1' }, { capabilities: { elicitation: {} } }), made[transport]()];
}

function second() {
  const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  const made = {
    stdio: () => {
      const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
      return new StdioClientTransport({ command: target, args, env: process.env });
    },
    http: () => new StreamableHTTPClientTransport(new URL(target)),
  };
  const options = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } };
  return [new Client({ name: 'ts-client', version: '2' }, options), made[transport]()];
}

const [client, link] = line === '1' ? first() : second();
await client.connect(link);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const name = tools.find((tool) => tool.endsWith('__echo'));
let progress = 0;
const echo = await client.callTool({ name, arguments: { message: 'hello' } });
const slow = tools.find((tool) => tool.endsWith('__trigger-long-running-operation'));
if (slow) {
  const heard = { onprogress: () => { progress += 1; } };
  const params = { name: slow, arguments: { duration: 0.2, steps: 2 } };
  await (line === '1' ? client.callTool(params, undefined, heard) : client.callTool(params, heard));
}
const resources = (await client.listResources()).resources.length;
const templates = (await client.listResourceTemplates()).resourceTemplates.length;
const prompts = (await client.listPrompts()).prompts.length;
const said = { tools: tools.length, echo: echo.content[0].text, progress, resources, templates, prompts };
console.log(JSON.stringify(said));
await client.close();
