/** Clients: which are on this machine and have Switchboard, and which are connected now. */

import { ask, isForPeople, part } from './api.js';
import { attempt, button, h, loading, open, table, visibleWord } from './dom.js';
import { filter } from './filter.js';
import { search } from './list.js';
import { to } from './route.js';
import { here, isRead, known, look, lookAtClients } from './store.js';
import { count, micros, moment, since } from './units.js';

const words = ({ name, principal, session, transport, folder, servers = {} }) => [name, principal, session, transport, folder, ...Object.keys(servers)].join(' ').toLowerCase();

const extensionWords = ({ client, transport, declared, negotiated }) => [client, transport, ...declared, ...Object.keys(negotiated)].join(' ').toLowerCase();

export function view() {
  const head = filter('Clients', { search: 'Search clients', changed: update });
  const cards = h('div', { className: 'cards' });
  const installed = h('section', { className: 'card', 'aria-label': 'On this machine' });
  lookAtClients().catch(() => {});

  function update() {
    const { q } = head.read();
    const found = search(known.clients, q, words);
    head.tell(found.length, known.clients.length);
    const connected = h('section', { className: 'card', 'aria-label': 'Connected' }, h('h2', {}, 'Connected'),
      !isRead('servers') ? loading() : found.length ? (isForPeople ? peopleTable : connectedTable)(found) : h('p', { className: 'faint' }, known.clients.length ? 'No client matches.' : NOTHING));
    installed.replaceChildren(h('h2', {}, 'On this machine'), isRead('clients') ? installedTable(known.installations) : loading());
    const extended = search(known.extensions.clients ?? [], q, extensionWords);
    const extensions = extended.length > 0 && h('section', { className: 'card', 'aria-label': 'Extensions' }, h('h2', {}, 'Extensions'), extensionsTable(extended));
    const focused = document.activeElement?.getAttribute('data-key');
    cards.replaceChildren(...[connected, extensions, !isForPeople && installed].filter(Boolean));
    if (focused) cards.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  return { element: [head.element, cards], update };
}

const NOTHING = isForPeople ? 'No client is connected.' : 'No client is connected. Install Switchboard in one below, then start it.';
const TRANSPORTS = { socket: 'switchboard connect', http: 'Streamable HTTP', sse: 'HTTP+SSE', ws: 'WebSocket' };

function connectedTable(clients) {
  return table('Connected clients', ['Client', 'Connected for', '#Running calls', 'Servers called', 'Latency', 'Folder', '-Disconnect'], clients.map((client) => {
    const { name, version, session, transport, folder, since: from, calls, servers = {} } = client;
    const traffic = known.traffic.clients.find((each) => each.client === name);
    const called = Object.entries(servers);
    return [
      [h('a', { href: to('calls', undefined, undefined, { client: name }) }, name || session), h('small', {}, ` ${version}`), h('br', {}), h('small', {}, `${TRANSPORTS[transport] ?? transport} · ${session}`)],
      h('span', { title: moment(from * 1000) }, since(from * 1000)),
      calls,
      called.length ? called.map(([server, times]) => h('div', {}, h('a', { href: to('servers', server) }, server), ` ${count(times, 'call')}`)) : h('span', { className: 'faint' }, 'none yet'),
      traffic?.latency ? `p50 ${micros(traffic.latency.p50Micros)} · p99 ${micros(traffic.latency.p99Micros)}` : '–',
      folder,
      transport === 'socket' ? h('button', { type: 'button', 'data-key': session, 'aria-label': `Disconnect ${name || session}`, onclick: () => disconnect(client) }, 'Disconnect') : h('span', { className: 'faint' }, 'ends by itself'),
    ];
  }));
}

/** Clients as the people of `serve` see them: an administrator those of all, others their own. */
const peopleTable = (clients) => table('Connected clients', ['Client', 'Who', 'Connected for', '#Running calls', 'Servers called'], clients.map(({ name, principal, session, transport, since: from, calls, servers }) => [
  [h('strong', {}, name || session), h('br', {}), h('small', {}, `${TRANSPORTS[transport] ?? transport} · ${session}`)],
  principal === known.me.principal ? 'you' : principal,
  h('span', { title: moment(from * 1000) }, since(from * 1000)),
  calls,
  Object.keys(servers).length ? Object.entries(servers).map(([server, times]) => h('div', {}, `${server} ${count(times, 'call')}`)) : h('span', { className: 'faint' }, 'none yet'),
]));

/** What clients declare beyond the protocol, what they agree on with servers, and what does not pass. */
function extensionsTable(clients) {
  const lines = (texts) => texts.map((text) => h('div', {}, text));
  return table('Extensions of clients', ['Client', 'Declares', 'Agreed', 'Not passed'], clients.map(({ client, transport, declared, negotiated, lost }) => [
    [visibleWord(client) || 'without a name', h('br', {}), h('small', {}, transport)],
    lines(declared.map(visibleWord)),
    Object.entries(negotiated).map(([server, both]) => h('div', {}, h('a', { href: to('servers', server) }, visibleWord(server)), `: ${both.map(visibleWord).join(', ')}`)),
    lines(lost.map(({ name, reason }) => `${visibleWord(name)}: ${reason}`)),
  ]));
}

function disconnect({ name, session, calls }) {
  open(`Disconnect ${name || session}?`, (close) => [
    h('p', {}, 'The client connects again with its next request.', calls > 0 && ` ${count(calls, 'running call')} will be cancelled.`),
    h('div', { className: 'actions' }, button('Disconnect', async () => {
      close();
      await attempt(async () => { await ask('POST', `sessions/${part(session)}/disconnect`); await look(); }, `${name || session} is disconnected.`);
    }, 'grave'), button('Cancel', close)),
  ]);
}

/** The names of the clients as people write them, the same as in the program. */
const NAMES = {
  'claude-code': 'Claude Code', 'claude-desktop': 'Claude Desktop', cursor: 'Cursor', vscode: 'VS Code', codex: 'Codex', gemini: 'Gemini CLI',
  windsurf: 'Windsurf', zed: 'Zed', continue: 'Continue', goose: 'Goose',
};
const displayName = (client) => NAMES[client] ?? client;

const MATCHES = { same: 'installed', other: 'installed, but starts another program', missing: 'installed, but its program is missing' };

function installedTable(all) {
  const order = ({ path, entries }) => (entries.length ? 0 : path ? 1 : 2);
  const rows = all.toSorted((one, other) => order(one) - order(other)).map(({ client, path, entries, installable }) => {
    const label = entries.length ? MATCHES[entries[0].match] ?? entries[0].match : path ? 'not installed' : 'not on this machine';
    const tone = entries.length ? (entries[0].match === 'same' ? 'good' : 'warn') : '';
    return [
      h('strong', {}, displayName(client)),
      h('span', { className: `state ${tone}` }, label),
      (entries[0]?.program ?? path) && h('small', {}, entries[0]?.program ?? path),
      !installable ? h('small', {}, 'see its documentation')
        : entries.length ? button(`Uninstall from ${displayName(client)}`, () => uninstall(client))
          : path && button(`Install in ${displayName(client)}`, () => install(client)),
    ];
  });
  return table('Clients on this machine', ['Client', 'Switchboard', 'File or program', '-Change'], rows);
}

async function install(client) {
  const told = await attempt(() => ask('GET', here(`clients/${part(client)}`)));
  if (!told) return;
  open(`Install Switchboard in ${displayName(client)}?`, (close) => [
    h('p', {}, told.isTaken ? `${told.file} already has another server with the name ${told.name}.` : `This entry is written to ${told.file}. The rest of the file stays as it is.`),
    h('pre', { tabindex: '0' }, told.text),
    h('div', { className: 'actions' }, !told.isTaken && button('Install', async () => {
      close();
      await attempt(async () => { await ask('POST', here(`clients/${part(client)}`)); await lookAtClients(); }, `Installed in ${displayName(client)}. Restart ${displayName(client)} to use it.`);
    }, 'main'), button('Cancel', close)),
  ]);
}

function uninstall(client) {
  open(`Uninstall from ${displayName(client)}?`, (close) => [
    h('p', {}, `The entry of Switchboard is removed from the file of ${displayName(client)}. The rest of the file stays as it is.`),
    h('div', { className: 'actions' }, button('Uninstall', async () => {
      close();
      await attempt(async () => { await ask('DELETE', here(`clients/${part(client)}`)); await lookAtClients(); }, `Uninstalled from ${displayName(client)}.`);
    }, 'grave'), button('Cancel', close)),
  ]);
}
