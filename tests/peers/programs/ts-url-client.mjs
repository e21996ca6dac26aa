// A client on the TypeScript SDK that calls the tool `visit`, accepts the page it is asked to show, and says what it
// was asked and what came of it as JSON.
//
//   node ts-url-client.mjs 1 URL          the SDK's first line
//   node ts-url-client.mjs 2 URL MODE     its second line; MODE: legacy or auto
//
// SWITCHBOARD_PEERS names the folder that `cargo xtask peers` prints: the packages live there.

import { createRequire } from 'node:module';

const peers = process.env.SWITCHBOARD_PEERS;
if (!peers) {
  console.error('SWITCHBOARD_PEERS is not set: run cargo xtask test');
  process.exit(2);
}
const require = createRequire(`${peers}/npm/package.json`);
const [line, url, mode] = process.argv.slice(2);
const info = { name: 'ts-url-client', version: line };
const capabilities = { elicitation: { form: {}, url: {} } };
const asked = [];
const accept = async (request) => {
  asked.push(request.params);
  return { action: 'accept' };
};

function first() {
  const sdk = '@modelcontextprotocol/sdk';
  const { Client } = require(`${sdk}/client/index.js`);
  const { StreamableHTTPClientTransport } = require(`${sdk}/client/streamableHttp.js`);
  const { ElicitRequestSchema } = require(`${sdk}/types.js`);
  const client = new Client(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, accept);
  return [client, new StreamableHTTPClientTransport(new URL(url))];
}

function second() {
  const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('elicitation/create', accept);
  return [client, new StreamableHTTPClientTransport(new URL(url))];
}

const [client, link] = line === '1' ? first() : second();
await client.connect(link);
const result = await client.callTool({ name: 'visit', arguments: {} });
console.log(JSON.stringify({ asked, said: result.content[0].text }));
await client.close();
