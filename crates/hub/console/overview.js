/** The first page: who calls what, how it went in the last hour, and what waits for a person. */

import { spark } from './chart.js';
import { diagram } from './diagram.js';
import { button, h, loading } from './dom.js';
import { openImport } from './import.js';
import { approvals, troubled } from './problems.js';
import { openAdding } from './adding.js';
import { to } from './route.js';
import { stateWord } from './server-state.js';
import { isRead, known, lookAtTraffic } from './store.js';
import { count, micros, share, short } from './units.js';

/** Tools in each table. */
const TOOLS = 5;

export function view() {
  const picture = diagram();
  const hour = h('span', { className: 'count' }, 'the last hour');
  const body = h('div', { className: 'overview' });
  const tiles = h('div', { className: 'tiles wide' });
  const slow = h('section', { className: 'card third', 'aria-label': 'Slowest tools' });
  const failing = h('section', { className: 'card third', 'aria-label': 'Most failing tools' });
  const waiting = h('section', { className: 'card waiting', 'aria-label': 'Waiting for you' });
  const full = [picture.element, tiles, waiting, slow, failing];
  let last = known.calls[0];
  lookAtTraffic().catch(() => {});

  return {
    element: [h('div', { className: 'bar' }, h('h1', {}, 'Overview'), hour), body],
    update() {
      if (!isRead('servers', 'calls', 'traffic')) return body.replaceChildren(loading());
      // The built-in server is there while no other is configured.
      const isEmpty = known.servers.every(({ transport }) => transport === 'sdk') && !known.traffic.total.calls;
      hour.hidden = isEmpty;
      if (isEmpty) return body.replaceChildren(starts());
      if (body.firstChild !== picture.element) body.replaceChildren(...full);
      picture.update();
      const since = known.calls.indexOf(last);
      known.calls.slice(0, since < 0 ? 0 : since).forEach(picture.called);
      last = known.calls[0];
      tiles.replaceChildren(...numbers(known.traffic));
      slow.replaceChildren(...slowest(known.traffic.tools));
      failing.replaceChildren(...worst(known.traffic.tools));
      waiting.replaceChildren(...waits());
      return undefined;
    },
  };
}

function numbers({ total, minutes }) {
  const of = (key) => minutes.map((each) => each[key]);
  const { latency } = total;
  return [
    tile('Calls', [figure(short(total.calls))], spark(`Calls in each minute: ${count(total.calls)} together`, of('calls'), of('errors')),
      [total.refused && `${count(total.refused)} refused`, total.cancelled && `${count(total.cancelled)} cancelled`]),
    tile('Latency', latency ? [figure(micros(latency.p50Micros), 'p50'), figure(micros(latency.p95Micros), 'p95'), figure(micros(latency.p99Micros), 'p99')] : [figure('–')],
      spark('The p95 of each minute', minutes.map((each) => each.latency?.p95Micros ?? 0)), ['bars: p95 per minute']),
    tile('Errors', [figure(short(total.errors)), total.calls > 0 && figure(share(total.errors, total.calls))], spark(`Errors in each minute: ${count(total.errors)} together`, of('errors'), of('errors')), []),
    tile('Tokens', [figure(`${total.tokens ? '≈ ' : ''}${short(total.tokens)}`)], spark('Tokens in each minute', of('tokens')), ['arguments and results, estimated']),
  ];
}

const figure = (text, name = '') => h('span', { className: 'figure' }, name && h('small', {}, name), text);
const tile = (title, figures, chart, notes) => h('section', { className: 'card tile', 'aria-label': title },
  h('h2', {}, title), h('div', { className: 'figures' }, figures), chart,
  h('div', { className: 'axis', 'aria-hidden': 'true' }, h('small', {}, '1 h ago'), h('small', {}, 'now')), notes.some(Boolean) && h('small', {}, notes.filter(Boolean).join(' · ')));

const table = (id, heads, rows) => h('table', { 'aria-labelledby': id },
  h('thead', {}, h('tr', {}, heads.map((each, index) => h('th', { scope: 'col', className: index ? 'number' : '' }, each)))),
  h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((each, index) => h('td', { className: index ? 'number' : '' }, each))))));

const link = ({ name }) => h('a', { href: to('calls', undefined, undefined, { q: name }) }, name);

function slowest(tools) {
  const found = tools.filter(({ latency }) => latency).sort((one, other) => other.latency.p95Micros - one.latency.p95Micros).slice(0, TOOLS);
  return [h('h2', { id: 'slowest' }, 'Slowest tools'), found.length
    ? table('slowest', ['Tool', 'p50', 'p95', 'Calls'], found.map((each) => [link(each), micros(each.latency.p50Micros), micros(each.latency.p95Micros), count(each.calls)]))
    : h('p', { className: 'faint' }, 'No tool was called in the last hour.')];
}

function worst(tools) {
  const found = tools.filter(({ errors }) => errors).sort((one, other) => other.errors - one.errors).slice(0, TOOLS);
  return [h('h2', { id: 'failing' }, 'Most failing tools'), found.length
    ? table('failing', ['Tool', 'Errors', 'Share', 'Calls'], found.map((each) => [link(each), count(each.errors), share(each.errors, each.calls), count(each.calls)]))
    : h('p', { className: 'faint' }, 'No tool failed in the last hour.')];
}

function waits() {
  const line = (text, href, action) => h('li', {}, h('span', {}, text), h('a', { href }, action));
  const servers = troubled().slice(0, 6).map((each) => line(h('span', {}, h('strong', {}, each.name), ` · ${stateWord(each)}`), to('servers', each.name), 'Open'));
  const lines = [
    known.questions.size > 0 && line(count(known.questions.size, 'question'), to('questions'), 'Answer'),
    approvals().length > 0 && line(`${count(approvals().length, 'item')} of this project to approve`, to('problems'), 'Review'),
    ...servers,
    troubled().length > 6 && line(`${troubled().length - 6} more servers`, to('problems'), 'Show all'),
  ].filter(Boolean);
  return [h('h2', {}, 'Waiting for you'), lines.length ? h('ul', { className: 'plainlist' }, lines) : h('p', { className: 'faint' }, 'Nothing.')];
}

/** Nothing is configured yet. */
function starts() {
  const card = (title, text, ...actions) => h('section', { className: 'card' }, h('h2', {}, title), h('p', {}, text), h('div', { className: 'actions' }, actions));
  return h('div', { className: 'starts wide' },
    card('Import servers', 'Copy the servers that your clients already have. Their files stay as they are.', button('Look for servers', openImport, 'main')),
    card('Add a server', 'Give its address, the command that starts it, or the JSON from its documentation.', button('Add a server', openAdding, 'main')),
    card('Connect a client', 'Let an editor or an assistant use all servers through Switchboard.', h('a', { className: 'button', href: to('clients') }, 'Choose a client')));
}
