/** Every server with how it is, live; each opens to everything there is to know and do. */

import { openAdding } from './adding.js';
import { button, h, loading, prose } from './dom.js';
import { filter, values } from './filter.js';
import { openImport } from './import.js';
import { cell, list, search } from './list.js';
import { to } from './route.js';
import { state, stateWord, why } from './server-state.js';
import { isRead, known } from './store.js';
import { count, micros, short } from './units.js';

const words = ({ name, scope, transport, serverName, target, ...server }) =>
  [name, scope, transport, target, stateWord(server), serverName].filter(Boolean).join(' ').toLowerCase();

/** What matters first: what is wrong, then what runs. */
const URGENCY = ['failed', 'needs-auth', 'awaiting-approval', 'invalid', 'blocked', 'pending', 'connected', 'idle', 'disabled', 'rejected'];
const traffic = ({ name }) => known.traffic.servers.find(({ server }) => server === name);
const calls = (server) => traffic(server)?.calls ?? 0;
const latencyOf = (server) => traffic(server)?.latency;
const ORDERS = {
  '': (one, other) => one.name.localeCompare(other.name),
  state: (one, other) => URGENCY.indexOf(one.state) - URGENCY.indexOf(other.state),
  calls: (one, other) => calls(other) - calls(one),
  latency: (one, other) => (latencyOf(other)?.p99Micros ?? -1) - (latencyOf(one)?.p99Micros ?? -1),
  cost: (one, other) => (other.cost ?? 0) - (one.cost ?? 0),
};
const ORDER_NAMES = [['', 'By name'], ['state', 'By state'], ['calls', 'By calls'], ['latency', 'By latency'], ['cost', 'By tokens of tools']];

const COLUMNS = [[2, 'Where'], [3, 'Protocol'], [1, 'Tools', true], [2, 'Calls, last hour', true], [1, 'p50 · p99', true]];

export function view() {
  const head = filter('Servers', {
    search: 'Search servers', changed: update,
    choices: {
      state: { label: 'State', options: () => values('All states', known.servers, stateWord) },
      scope: { label: 'Scope', options: () => values('All scopes', known.servers, ({ scope }) => scope) },
      sort: { label: 'Order', options: () => [...ORDER_NAMES] },
    },
    more: [button('Import', openImport), button('Add a server', openAdding, 'main')],
  });
  const { elements, show } = list('Servers', COLUMNS, row, () => (known.servers.length
    ? h('p', {}, 'No server matches.')
    : isRead('servers') ? [h('h2', {}, 'No servers yet'), h('p', {}, 'Add one, or import those that your clients have already.')] : loading()));

  function update() {
    const { q, state: wanted, scope, sort } = head.read();
    const found = search(known.servers, q, words)
      .filter((server) => (!wanted || stateWord(server) === wanted) && (!scope || server.scope === scope))
      .sort(ORDERS[sort] ?? ORDERS['']);
    head.tell(found.length, known.servers.length);
    show(found);
  }

  return { element: [head.element, ...elements], update };
}

/** Why a server is not as it should be, else what it is. A command may have backquotes of its own. */
function line(server) {
  const reason = server.state === 'disabled' ? undefined : why(server);
  return reason ? prose(reason) : server.target ?? server.transport;
}

function row(server) {
  const { name, scope, transport, protocol, toolCount, cost, at: place, stats = {} } = server;
  const latency = latencyOf(server);
  return {
    key: `${scope} ${name}`,
    href: to('servers', name),
    parts: [
      h('span', { className: 'what' }, h('strong', {}, name), h('small', {}, line(server), stats.restarts ? ` · ${count(stats.restarts, 'restart')}` : '')),
      cell(2, [scope, place && place.origin.split('/').pop()].filter(Boolean).join(' · ')),
      cell(3, [transport, protocol].filter(Boolean).join(' · ')),
      cell(1, toolCount ? `${count(toolCount, 'tool')} · ${short(cost)} tokens` : '–', true),
      cell(2, [short(calls(server)), stats.callsInFlight ? `${stats.callsInFlight} running` : ''].filter(Boolean).join(' · '), true),
      cell(1, latency ? `${micros(latency.p50Micros)} · ${micros(latency.p99Micros)}` : '–', true),
      h('span', {}, state(server)),
    ],
  };
}
