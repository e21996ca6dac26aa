// The Inspector on the command line, asked for the same as the other clients, and what it saw as JSON.
//
//   node inspector-client.mjs http|sse URL legacy|auto|modern
//   node inspector-client.mjs stdio legacy|auto|modern PROGRAM ARGS…
//
// SWITCHBOARD_PEERS names the folder that `cargo xtask peers` prints: the Inspector lives there.

import { spawnSync } from 'node:child_process';

const peers = process.env.SWITCHBOARD_PEERS;
if (!peers) {
  console.error('SWITCHBOARD_PEERS is not set: run cargo xtask test');
  process.exit(2);
}
const launcher = `${peers}/npm-inspector/node_modules/.bin/mcp-inspector`;
const [transport, ...rest] = process.argv.slice(2);
const [era, target] =
  transport === 'stdio'
    ? [rest[0], rest.slice(1)]
    : [rest[1], ['--server-url', rest[0]]];

function ask(method, ...more) {
  const flags = ['--transport', transport, '--protocol-era', era, '--format', 'json', '-q', '--method', method, ...more];
  const ran = spawnSync(process.execPath, [launcher, '--cli', ...target, ...flags], { encoding: 'utf8' });
  if (ran.status !== 0) {
    console.error(`${method} ended with ${ran.status}: ${ran.stderr}${ran.stdout}`);
    process.exit(1);
  }
  const said = JSON.parse(ran.stdout);
  return said.result ?? said;
}

const tools = ask('tools/list').tools.map((tool) => tool.name);
const name = tools.find((tool) => tool.endsWith('__echo'));
const echo = ask('tools/call', '--tool-name', name, '--tool-args-json', '{"message":"hello"}');
const resources = ask('resources/list').resources.length;
const prompts = ask('prompts/list').prompts.length;
console.log(JSON.stringify({ tools: tools.length, echo: echo.content[0].text, resources, prompts }));
