/** Every call that was made: by whom, what was decided, how it ended. */

import { ask, part } from './api.js';
import { drawn, openTool, repeat } from './calling.js';
import { attempt, button, calmly, facts, h, open, pre } from './dom.js';
import { list, search } from './list.js';
import { known } from './store.js';

const TONES = { ok: 'good', asked: '', cancelled: 'warn' };
const texts = new WeakMap();
function words(call) {
  if (!texts.has(call)) texts.set(call, Object.values(call).join(' ').toLowerCase());
  return texts.get(call);
}

const took = (micros) => (micros < 1000 ? `${micros} µs` : micros < 1e6 ? `${(micros / 1000).toFixed(1)} ms` : `${(micros / 1e6).toFixed(1)} s`);
const clock = (time) => new Date(time).toLocaleTimeString();

export function view() {
  const count = h('span', { className: 'count', role: 'status' });
  const typed = h('input', { type: 'search', 'aria-label': 'Filter calls', placeholder: 'Filter: server, tool, outcome, client', oninput: calmly(update, 30) });
  const { element, show } = list('Calls', row, 'No call was made yet.');

  function update() {
    const calls = known.calls.filter((call) => call.method);
    const found = search(calls, typed.value, words);
    count.textContent = `${found.length} of ${calls.length}`;
    show(found);
  }

  return { element: [h('div', { className: 'bar' }, h('h1', {}, 'Activity'), typed, count), element], update };
}

function row(call) {
  return {
    key: `${call.time} ${call.session} ${call.name}`,
    open: () => openCall(call),
    parts: [
      h('span', { className: 'what' }, h('strong', {}, call.name || call.method), h('small', {}, [clock(call.time), call.client || call.principal, call.server].filter(Boolean).join(' · '))),
      h('span', { className: 'facts' }, h('span', {}, [call.decision, call.by, call.rule].filter(Boolean).join(' ')), h('span', {}, took(call.micros))),
      h('span', { className: `state ${TONES[call.outcome] ?? 'bad'}` }, call.outcome),
    ],
  };
}

function openCall(call) {
  const said = h('section', { 'aria-label': 'What it said', 'aria-live': 'polite' });
  open(call.name || call.method, (close) => {
    if (call.id) attempt(() => ask('GET', `activity/${part(call.id)}`)).then((told) => said.replaceChildren(...(told ? shown(call, told, close) : [unknown(call)])));
    else said.replaceChildren(unknown(call));
    return [
      facts([
        ['When', new Date(call.time).toLocaleString()], ['Who', [call.principal, call.client, call.transport].filter(Boolean).join(', ')],
        ['Session', call.session], ['Folder', call.workspace], ['Server', call.server], ['Method', call.method],
        ['Decision', [call.decision, call.by && `by ${call.by}`, call.rule].filter(Boolean).join(' ')], ['Rule stands at', call.at],
        ['Outcome', [call.outcome, call.error].filter(Boolean).join(': ')], ['Took', took(call.micros)],
        ['Bytes', `${call.sent} sent, ${call.received} received`],
      ]),
      said,
    ];
  });
}

/** A call of which nothing is kept can still be made, with new arguments. */
const unknown = (call) => h('p', { className: 'faint' }, 'What it said is not kept: it is in memory alone, of the latest calls, and only while a page like this is open. ',
  toolOf(call) && button('Call it anew', () => openTool(toolOf(call))));

const toolOf = (call) => call.method === 'tools/call' && known.catalog.tools.find(({ name }) => name === call.name);

/** What it said and what came of it, and the same once more. */
function shown(call, { params, result, error }, close) {
  const tool = toolOf(call);
  const anew = () => { close(); openTool(tool, params.arguments ?? {}, call.id); };
  return [
    h('h2', {}, 'Request'), params === undefined ? tooLong() : pre(params),
    h('h2', {}, 'Result'),
    ...(error ? [h('p', { className: 'wrong' }, (error.causes ?? []).join(': '), error.hint && `\nhint: ${error.hint}`)]
      : result === undefined ? [call.received ? tooLong() : h('p', { className: 'faint' }, 'There was none.')] : drawn(call.method, result)),
    params !== undefined && h('div', { className: 'actions' },
      button('Repeat', () => { close(); repeat({ ...call, params }, call.id); }, 'main'),
      tool && button('Change and repeat', anew)),
  ].filter(Boolean);
}

const tooLong = () => h('p', { className: 'faint' }, 'It was too long to be kept.');
