/** Every call that was made: by whom, what was decided, how it ended. */

import { isForPeople } from './api.js';
import { h, loading } from './dom.js';
import { filter, values } from './filter.js';
import { cell, list, search } from './list.js';
import { to } from './route.js';
import { isRead, known } from './store.js';
import { clock, date, micros } from './units.js';

export const TONES = { ok: 'good', asked: '', cancelled: 'warn' };
export const outcomeWord = ({ outcome }) => String(outcome).replaceAll('-', ' ');

const DECISIONS = { allow: 'allowed', ask: 'asked', deny: 'denied' };
const REASONS = {
  typed: ', typed', rule: ' by rule', mode: ' by mode', client: ', left to the client', person: ' by person', remembered: ' by remembered answer', hook: ' by hook', classifier: ' by classifier',
  interaction: ', the tool needs a person', 'built-in': ', built in', 'unclear-settings': ', the settings are unclear', 'repeated-argument': ', an argument is repeated',
  agent: ', not a tool of the agent', 'not-for-models': ', not for models', 'not-for-apps': ', not for apps', 'not-lent': ', the entry is not lent', 'nobody-asked': ', the mode does not ask',
};
/** The decision about a call and its reason, in the words of the terminal UI. */
export const decision = ({ decision: word, by, rule }) => [`${DECISIONS[word] ?? word ?? ''}${by ? REASONS[by] ?? ` by ${by}` : ''}`, rule].filter(Boolean).join(' ');
const texts = new WeakMap();
function words(call) {
  if (!texts.has(call)) texts.set(call, Object.values(call).join(' ').toLowerCase());
  return texts.get(call);
}

/** What names a call in an address. Ids begin anew with each hub, times do not. */
export const keyOf = ({ time, session, name, method }) => [time, session, name || method].join('~');

const COLUMNS = [[3, 'Time'], [1, 'Client'], [1, 'Server'], [2, 'Decision'], [3, isForPeople ? 'Who' : 'Folder'], [1, 'Took', true]];

export function view() {
  const calls = () => known.calls.filter((call) => call.method);
  const choice = (label, all, member) => ({ label, options: () => values(all, calls(), member) });
  const head = filter('Calls', {
    search: 'Search calls', changed: update,
    choices: {
      server: choice('Server', 'All servers', ({ server }) => server),
      client: choice('Client', 'All clients', ({ client }) => client),
      outcome: choice('Outcome', 'All outcomes', ({ outcome }) => outcome),
      method: choice('Method', 'All methods', ({ method }) => method),
    },
  });
  const { elements, show } = list('Calls', COLUMNS, row, () => (isRead('calls') ? h('p', {}, calls().length ? 'No call matches.' : 'No calls yet.') : loading()), 'Outcome');

  function update() {
    const { q, ...chosen } = head.read();
    const all = calls();
    const wanted = Object.entries(chosen).filter(([, value]) => value);
    const found = search(all, q, words).filter((call) => wanted.every(([member, value]) => call[member] === value));
    head.tell(found.length, all.length);
    show(found);
  }

  return { element: [head.element, ...elements], update };
}

function row(call) {
  const client = call.client || call.principal;
  return {
    key: keyOf(call),
    href: to('calls', keyOf(call)),
    parts: [
      h('span', { className: 'what' }, h('strong', {}, call.name || call.method), h('small', {}, clock(call.time), h('span', { className: 'narrow' }, [client, call.server].filter(Boolean).map((each) => ` · ${each}`)))),
      cell(3, date(call.time)),
      cell(1, client),
      cell(1, call.server ?? ''),
      cell(2, decision(call)),
      cell(3, isForPeople ? call.principal : call.workspace),
      cell(1, micros(call.micros), true),
      h('span', {}, h('span', { className: `state ${TONES[call.outcome] ?? 'bad'}` }, outcomeWord(call))),
    ],
  };
}
