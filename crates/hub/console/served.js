/** Servers as an administrator of `serve` sees them: how they are and how much they do, and nothing of their entries. */

import { h, table } from './dom.js';
import { filter } from './filter.js';
import { search } from './list.js';
import { state } from './server-state.js';
import { known, lookAtTraffic } from './store.js';
import { count, micros, millis, short } from './units.js';

const words = ({ name, state: word, transport = '' }) => [name, word, transport].join(' ').toLowerCase();

export function view() {
  const head = filter('Servers', { search: 'Search servers', changed: update });
  const cards = h('div', { className: 'cards' });
  lookAtTraffic().catch(() => {});

  function update() {
    const { q } = head.read();
    const found = search(known.served, q, words);
    head.tell(found.length, known.served.length);
    const { calls, errors, refused, tokens, latency } = known.traffic.total;
    const total = [count(calls, 'call'), count(errors, 'error'), `${count(refused)} refused`, `≈ ${short(tokens)} tokens`, latency && `p50 ${micros(latency.p50Micros)} · p99 ${micros(latency.p99Micros)}`];
    cards.replaceChildren(
      h('section', { className: 'card', 'aria-label': 'The last hour' }, h('h2', {}, 'The last hour'), h('p', {}, total.filter(Boolean).join(' · '))),
      h('section', { className: 'card', 'aria-label': 'All servers' }, h('h2', {}, 'All servers'), found.length ? serverTable(found) : h('p', { className: 'faint' }, 'No server matches.')));
  }

  return { element: [head.element, cards], update };
}

const serverTable = (servers) => table('Servers', ['Server', 'State', 'Transport', '#Tools', '#Running calls', '#Restarts', 'Latency'], servers.map((server) => [
  h('strong', {}, server.name), state(server), [server.transport, server.protocol].filter(Boolean).join(', '),
  count(server.toolCount), count(server.callsInFlight), count(server.restarts),
  server.latency ? `p50 ${millis(server.latency.p50Millis)} · p99 ${millis(server.latency.p99Millis)}` : '–',
]));
