/** Every call that was made: by whom, what was decided, how it ended. */

import { openTool } from './calling.js';
import { button, calmly, facts, h, open } from './dom.js';
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
  const tool = known.catalog.tools.find(({ name }) => name === call.name);
  open(call.name || call.method, (close) => [
    facts([
      ['When', new Date(call.time).toLocaleString()], ['Who', [call.principal, call.client, call.transport].filter(Boolean).join(', ')],
      ['Session', call.session], ['Folder', call.workspace], ['Server', call.server], ['Method', call.method],
      ['Decision', [call.decision, call.by && `by ${call.by}`, call.rule].filter(Boolean).join(' ')], ['Rule stands at', call.at],
      ['Outcome', [call.outcome, call.error].filter(Boolean).join(': ')], ['Took', took(call.micros)],
      ['Bytes', `${call.sent} sent, ${call.received} received`],
    ]),
    h('p', { className: 'faint' }, 'Arguments and results are never written down.'),
    tool && button('Call it again', () => { close(); openTool(tool); }),
  ]);
}
