/**
 * Clients on the left, the hub in the middle, servers on the right. A line is as thick as the traffic of the last hour,
 * its red part is the share that failed, and a call that ends now lights it up.
 */

import { s } from './chart.js';
import { h } from './dom.js';
import { stateWord, TONES } from './server-state.js';
import { to } from './route.js';
import { known } from './store.js';
import { count } from './units.js';

/** Nodes on each side; more are counted in one. */
const MAX_NODES = 10;
const [ROW, BOX] = [56, 42];
const LIVE_MILLIS = 900;
const none = { calls: 0, errors: 0 };

/** Attached clients by their names, then those that called within the hour and are gone. */
function clients() {
  const traffic = new Map(known.traffic.clients.map((each) => [each.client, each]));
  const there = new Map();
  for (const { name, session, calls } of known.clients) {
    const label = name || session;
    const before = there.get(label) ?? { label, sessions: 0, running: 0 };
    there.set(label, { ...before, sessions: before.sessions + 1, running: before.running + calls });
  }
  const nodes = [...there.values()].map((each) => ({
    ...each, ...(traffic.get(each.label) ?? none), key: each.label, href: to('clients', undefined, undefined, { q: each.label }), tone: 'good',
    state: each.sessions > 1 ? `${each.sessions} sessions` : 'connected',
  }));
  const gone = known.traffic.clients.filter(({ client }) => client && !there.has(client))
    .map((each) => ({ ...each, label: each.client, key: each.client, href: to('calls', undefined, undefined, { client: each.client }), isOff: true, state: 'gone' }));
  return [...nodes, ...gone];
}

function servers() {
  const traffic = new Map(known.traffic.servers.map((each) => [each.server, each]));
  const nodes = known.servers.map(({ name, state, silentSince }) => ({
    ...(traffic.get(name) ?? none), label: name, key: name, href: to('servers', name), tone: silentSince ? 'warn' : TONES[state] ?? '',
    isOff: !['connected', 'idle'].includes(state), state: stateWord({ state, silentSince }),
  }));
  return nodes.sort((one, other) => other.calls - one.calls);
}

/** The first nodes, and how many more there are. */
function few(nodes, href) {
  if (nodes.length <= MAX_NODES) return nodes;
  const rest = nodes.slice(MAX_NODES - 1);
  const sum = (key) => rest.reduce((total, each) => total + each[key], 0);
  return [...nodes.slice(0, MAX_NODES - 1), { label: `${rest.length} more`, key: '', href, calls: sum('calls'), errors: sum('errors'), tone: '', state: '' }];
}

const width = (calls) => (calls ? Math.min(14, 2 + Math.log2(1 + calls) * 1.2) : 1.5);
const cut = (text, room) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);

/** @returns {{ element: HTMLElement, update: () => void, called: (call: any) => void }} */
export function diagram() {
  const element = h('div', { className: 'card diagram wide' });
  const wires = new Map();
  new ResizeObserver(() => update()).observe(element);

  function update() {
    const wide = Math.max(260, element.clientWidth - 34);
    const [left, right] = [few(clients(), to('clients')), few(servers(), to('servers'))];
    const high = Math.max(left.length, right.length, 2) * ROW;
    const box = Math.min(260, Math.max(96, wide * 0.3));
    const hub = wide < 520 ? 44 : 132;
    const middle = { x: (wide - hub) / 2, y: high / 2 };
    const at = (index, all) => (high - all.length * ROW) / 2 + index * ROW + (ROW - BOX) / 2;
    wires.clear();
    const focused = document.activeElement?.getAttribute('data-node');
    const lines = [
      left.map((node, index) => wire(node, `client ${node.key}`, box, at(index, left) + BOX / 2, middle.x, spread(index, left, middle.y))),
      right.map((node, index) => wire(node, `server ${node.key}`, wide - box, at(index, right) + BOX / 2, middle.x + hub, spread(index, right, middle.y))),
    ];
    const nodes = [
      left.map((node, index) => drawn(node, `client ${node.key}`, 0, at(index, left), box)),
      right.map((node, index) => drawn(node, `server ${node.key}`, wide - box, at(index, right), box)),
    ];
    const hubHigh = Math.min(high, hub > 100 ? 88 : 104);
    const centre = s('g', {},
      s('rect', { class: 'hub', x: middle.x, y: middle.y - hubHigh / 2, width: hub, height: hubHigh, rx: 8 }),
      s('text', hub > 100
        ? { class: 'on-hub', x: wide / 2, y: middle.y + 5, 'text-anchor': 'middle' }
        : { class: 'on-hub narrow-hub', 'text-anchor': 'middle', transform: `translate(${wide / 2 + 4} ${middle.y}) rotate(-90)` }, 'Switchboard'));
    element.replaceChildren(
      h('h2', {}, 'Who calls what'),
      s('svg', { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: 'group', 'aria-label': `${count(left.length, 'client')}, ${count(right.length, 'server')}` }, lines, centre, nodes),
      ...(left.length ? [] : [h('p', { className: 'faint' }, 'No client is connected. ', h('a', { href: to('clients') }, 'Connect a client'))]));
    if (focused) element.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus();
  }

  /** The ends of lines at the hub lie beside one another. */
  const spread = (index, all, y) => y + (index - (all.length - 1) / 2) * Math.min(14, 70 / Math.max(1, all.length));

  function wire(node, key, x1, y1, x2, y2) {
    const bend = (x2 - x1) / 2;
    const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
    const thick = width(node.calls);
    const line = s('path', { class: node.isOff && !node.calls ? 'wire off' : 'wire', d: path, 'stroke-width': thick });
    wires.set(key, line);
    if (!node.errors) return line;
    return [line, s('path', { class: 'wire error', d: path, 'stroke-width': Math.max(1.5, (thick * node.errors) / node.calls) })];
  }

  function drawn({ label, calls, errors, state, tone, href }, key, x, y, box) {
    const room = Math.floor((box - 32) / 8);
    const facts = [state, calls && count(calls, 'call')].filter(Boolean).join(' · ');
    const said = errors ? `${count(errors, 'error')}` : '';
    return s('a', { href, 'data-node': key },
      s('rect', { class: 'box', x: x + 1, y, width: box - 2, height: BOX, rx: 8 }),
      s('circle', { class: `dot ${tone}`, cx: x + 13, cy: y + 15, r: 4 }),
      s('text', { x: x + 24, y: y + 19 }, `${cut(label, room)} `),
      s('text', { class: 'sub', x: x + 24, y: y + 35 }, cut(said ? '' : box < 130 ? state : facts, Math.floor((box - 28) / 6.6))),
      said && s('text', { class: 'error', x: x + 24, y: y + 35 }, cut(box < 130 ? said : `${said} of ${count(calls, 'call')}`, Math.floor((box - 28) / 6.6))));
  }

  return {
    element,
    update,
    called({ client, server }) {
      for (const line of [wires.get(`client ${client}`), wires.get(`server ${server}`)].filter(Boolean)) {
        line.classList.add('live');
        setTimeout(() => line.classList.remove('live'), LIVE_MILLIS);
      }
    },
  };
}
