/** One call: its stages, what it said, its raw messages on request, and the same once more. */

import { ask, isForPeople, part } from './api.js';
import { drawn, openTool, repeat } from './calling.js';
import { decision, keyOf, outcomeWord, TONES } from './calls.js';
import { stage } from './chart.js';
import { attempt, button, copy, drawer, facts, h, pre, prose } from './dom.js';
import { to } from './route.js';
import { known } from './store.js';
import { count, micros, moment, size } from './units.js';

const STAGES = {
  find: 'Find the tool', hooks: 'Arguments and hooks', permission: 'Permission', connect: 'Connection', server: 'Server', questions: 'Questions', result: 'Limit the result', after: 'Hooks after',
};
/** Stages in which a person may be waited for. */
const PERSONS = new Set(['permission', 'questions']);

export const find = (key) => known.calls.find((call) => call.method && keyOf(call) === key);

export function openCall(key) {
  const call = find(key);
  const said = h('section', { 'aria-label': 'What it said', 'aria-live': 'polite' });
  const element = drawer(call.name || call.method, (close) => {
    if (call.id) ask('GET', `activity/${part(call.id)}`).then((told) => said.replaceChildren(...shown(call, told, close)), () => said.replaceChildren(unknown(call)));
    else said.replaceChildren(unknown(call));
    return [
      h('p', {}, h('span', { className: `state ${TONES[call.outcome] ?? 'bad'}` }, outcomeWord(call)), ` ${[call.error, micros(call.micros)].filter(Boolean).join(' · ')}`),
      facts([
        ['When', moment(call.time)], ['Client', [call.client, call.principal !== known.me.principal && call.principal, call.transport].filter(Boolean).join(', ')],
        ['Session', call.session], ['Folder', call.workspace], ['Server', call.server && (isForPeople ? call.server : h('a', { href: to('servers', call.server) }, call.server))], ['Method', call.method],
        ['Decision', decision(call)], ['Rule', call.at],
        ['Size', `${size(call.sent)} sent, ${size(call.received)} received`],
      ]),
      said,
    ];
  });
  return { element, turn() {} };
}

/** A call of which nothing is kept can still be made, with new arguments. */
const unknown = (call) => (isForPeople ? h('p', { className: 'faint' }, 'This console shows no arguments and no results.') : h('p', { className: 'faint' }, 'The stages and messages of this call were not kept. The hub keeps those of your own latest calls, in memory, and only while a console is open. ',
  toolOf(call) && button('Call it', () => openTool(toolOf(call)))));

const toolOf = (call) => call.method === 'tools/call' && known.catalog.tools.find(({ name }) => name === call.name);

/** What it said and what came of it, and the same once more. */
function shown(call, { params, result, error, stages = [] }, close) {
  const tool = toolOf(call);
  const anew = () => { close(); openTool(tool, params.arguments ?? {}, call.id); };
  const raw = h('div', { className: 'cards' });
  return [
    stages.length > 0 && waterfall(stages),
    h('h2', {}, 'Request'), params === undefined ? tooLong() : pre(params),
    h('h2', {}, 'Result'),
    ...(error ? [h('p', { className: 'wrong' }, prose((error.causes ?? []).join(': ')), error.hint && prose(`\nHint: ${error.hint}`))]
      : result === undefined ? [call.received ? tooLong() : h('p', { className: 'faint' }, 'No result.')] : drawn(call.method, result)),
    h('div', { className: 'actions' },
      params !== undefined && button('Run again', () => { close(); repeat({ ...call, params }, call.id); }, 'main'),
      params !== undefined && tool && button('Change and run again', anew),
      params !== undefined && tool && button('Copy as command', () => copy(command(call.name, params.arguments ?? {}), 'Command')),
      button('Show raw messages', () => showRaw(call.id, raw))),
    raw,
  ].filter(Boolean);
}

/** The same call on the command line. */
function command(name, args) {
  const json = JSON.stringify(args);
  return `switchboard call ${name}${json === '{}' ? '' : ` '${json.replaceAll("'", "'\\''")}'`}`;
}

/** Where the time went. */
function waterfall(stages) {
  const whole = Math.max(1, stages.reduce((sum, each) => sum + each.micros, 0));
  let start = 0;
  const lines = stages.map(({ stage: name, micros: took }) => {
    const line = [h('span', {}, STAGES[name] ?? name), stage(start, took, whole, PERSONS.has(name)), h('span', { className: 'number' }, micros(took))];
    start += took;
    return line;
  });
  return h('section', { 'aria-label': 'Stages' }, h('h2', {}, 'Where the time went'), h('div', { className: 'waterfall' }, lines));
}

/** The messages as they were: payloads unchanged, without our credentials, which travel in headers. */
async function showRaw(id, place) {
  const told = await attempt(() => ask('GET', `activity/${part(id)}?raw=1`));
  if (!told) return;
  const message = (title, text) => [h('h2', {}, title), text === undefined ? tooLong() : h('pre', { tabindex: '0' }, text),
    text !== undefined && h('p', { className: 'actions' }, h('small', {}, count(text.length, 'character')), button(`Copy ${title.toLowerCase()}`, () => copy(text, title)))];
  place.replaceChildren(
    h('p', { className: 'faint' }, 'The messages as the client sent and received them, including any secrets. The hub keeps them in memory only.'),
    ...[message('Raw request', told.request), message('Raw result', told.response)].flat().filter(Boolean));
}

const tooLong = () => h('p', { className: 'faint' }, 'This is too long to be kept.');
