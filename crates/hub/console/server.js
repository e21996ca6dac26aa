/** One server: how it is, its tools, processes, log and entry, each at an address of its own, and what can be done with it. */

import { ask, part } from './api.js';
import { openApproval } from './approval.js';
import { signIn } from './calling.js';
import { attempt, button, drawer, facts, h, notice, open, prose, table, visibleWord } from './dom.js';
import { entry } from './entry.js';
import { to } from './route.js';
import { log } from './log.js';
import { state, stateWord } from './server-state.js';
import { tools } from './server-tools.js';
import { showSkills } from './skills.js';
import { at, follow, known, look } from './store.js';
import { clock, count, memory, millis, moment, short } from './units.js';

const named = (name) => known.servers.find((server) => server.name === name);

/** The parts of a server. Each makes its elements, and may follow what happens until it is left. */
const PARTS = {
  state: { title: 'State', make: about },
  tools: { title: 'Tools', make: tools },
  log: { title: 'Log', make: log },
  processes: { title: 'Processes', make: processes },
  entry: { title: 'Entry', make: entry },
  skills: { title: 'Skills', make: (name) => { const element = h('section', {}); showSkills(name, element); return { element }; } },
};

/** A window for it, which stays current. */
export function openServer(name, part = 'state') {
  const head = h('div', {});
  const tabs = h('div', { className: 'tabs', role: 'navigation', 'aria-label': `Parts of ${name}` });
  const place = h('div', {});
  let shown = { update() {}, close() {} };

  function turn(wanted = 'state') {
    const chosen = wanted in PARTS ? wanted : 'state';
    shown.close?.();
    tabs.replaceChildren(...Object.entries(PARTS).map(([key, { title }]) =>
      h('a', { href: to('servers', name, key === 'state' ? undefined : key), 'aria-current': key === chosen && 'page' }, title)));
    shown = PARTS[chosen].make(name);
    place.replaceChildren(shown.element);
    shown.update?.();
    reveal();
  }

  /** On a phone the tabs scroll. */
  const reveal = () => tabs.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });

  const draw = () => {
    const server = named(name);
    head.replaceChildren(...(server
      ? [h('div', { className: 'actions' }, state(server), ...actions(server), button('Remove', () => remove(name), 'grave'))]
      : [h('p', {}, 'This server is gone.')]));
  };
  const unfollow = follow((topic) => { if (topic === 'servers') { draw(); shown.update?.(); } });
  draw();
  turn(part);
  const element = drawer(name, () => [head, tabs, place], () => { unfollow(); shown.close?.(); });
  reveal();
  return { element, turn };
}

function about(name) {
  const element = h('section', { className: 'sentences' });
  const past = h('section', { 'aria-label': 'History' });
  let drawn = '';
  let signIn;
  /** Reads the sign-in that is stored for a remote server, which its state does not tell. */
  const readSignIn = async (server) => {
    if (!isRemote(server)) return;
    signIn = (await ask('GET', at(name, 'sign-in')).catch(() => undefined))?.signIn;
    const now = named(name);
    if (now) element.replaceChildren(...details(now, signIn));
  };
  const history = async () => {
    const told = await ask('GET', at(name, 'history')).catch(() => undefined);
    if (!told?.history.length) return past.replaceChildren();
    return past.replaceChildren(h('h2', {}, 'History'), h('ol', { className: 'history' }, told.history.toReversed().map(({ time, state: word, reason }) =>
      h('li', {}, h('span', { className: 'faint' }, `${clock(time)} `), h('strong', {}, stateWord({ state: word })), reason && h('p', { className: 'faint' }, reason)))));
  };
  return {
    element: h('div', { className: 'cards' }, element, past),
    update() {
      const server = named(name);
      if (!server) return;
      element.replaceChildren(...details(server, signIn));
      const key = `${server.state} ${server.stats?.connects} ${server.lastTriedAt}`;
      // Only what was started has a history.
      if (key !== drawn && server.stats) { history(); readSignIn(server); }
      drawn = key;
    },
  };
}

const isRemote = ({ transport }) => ['http', 'sse', 'ws'].includes(transport);

function details(server, signIn) {
  const { name, scope, at: place, transport, target, error, why, hint, lastTriedAt, retryInMillis, silentSince, listsReadAt, serverName, serverVersion, protocol, era, offers = [], connectMillis, toolCount, cost, connections, affectedConnections, stats = {} } = server;
  const { latency } = stats;
  const traffic = known.traffic.servers.find((each) => each.server === name);
  const users = known.clients.filter(({ servers = {} }) => Object.hasOwn(servers, name)).map((client) => client.name || client.session);
  return [
    error && h('p', { className: 'wrong' }, prose((error.causes ?? []).join('\n')), error.hint && prose(`\nHint: ${error.hint}`)),
    why && h('p', {}, prose(why), hint && prose(`\nHint: ${hint}`)),
    facts([
      [isRemote(server) ? 'URL' : 'Command', target && h('code', {}, target)],
      ['Scope', scope], ['File', place && `${place.origin}:${place.line}`], ['Transport', transport],
      ['Sign-in', isRemote(server) && signInWords(server, signIn)],
      ['Affects', affectedConnections && `${affectedConnections} of ${count(connections, 'connection')}`],
      ['Reported name', [serverName, serverVersion].filter(Boolean).join(' ')], ['Protocol', protocol && `${protocol}, ${era}`],
      ['Offers', offers.join(', ')], ['Extensions', extensions(name)], ['Connected in', connectMillis !== undefined && millis(connectMillis)],
      ['Lists read', listsReadAt && moment(listsReadAt)], ['No answer since', silentSince && moment(silentSince)], ['Last tried', lastTriedAt && moment(lastTriedAt)],
      ['Next attempt in', retryInMillis && millis(retryInMillis)],
      ['Tools', toolCount ? `${count(toolCount)}, ${short(cost)} tokens in a full list` : undefined],
      ['Running calls', stats.callsInFlight || undefined],
      ['Latency', latency && `p50 ${millis(latency.p50Millis)} · p99 ${millis(latency.p99Millis)}`],
      ['Last hour', traffic && `${count(traffic.calls, 'call')}, ${count(traffic.errors, 'error')}, ≈ ${short(traffic.tokens)} tokens`],
      ['Restarts', stats.restarts || undefined], ['Process', (stats.pids ?? [stats.pid]).filter(Boolean).join(', ')], ['Used by', users.join(', ')],
      ['Last error', stats.lastError?.causes?.join(': ')],
    ]),
  ].filter(Boolean);
}

/** Whether a person is signed in, where, since when and until when. `signIn` is undefined until the hub has told it, and null without one. */
function signInWords({ state: word }, signIn) {
  if (word === 'needs-auth') return 'needed';
  if (!signIn) return signIn === null && 'not signed in';
  const { issuer, scopes, signedInAt, expiresAt, renewable } = signIn;
  return [
    `signed in at ${issuer}`, signedInAt && `since ${moment(signedInAt * 1000)}`,
    renewable ? 'renewed by itself' : expiresAt && `until ${moment(expiresAt * 1000)}`,
    scopes.length > 0 && `scopes: ${scopes.join(', ')}`,
  ].filter(Boolean).join(' · ');
}

/** The extensions that it declares, those that clients agree on with it, and those that do not pass. */
function extensions(name) {
  const { servers = [], clients = [] } = known.extensions ?? {};
  const server = servers.find((each) => each.server === name);
  const lost = ({ name: what, reason }) => `not passed: ${visibleWord(what)} (${reason})`;
  return [
    server?.declared.length && server.declared.map(visibleWord).join(', '),
    ...(server?.lost ?? []).map(lost),
    ...clients.filter(({ negotiated }) => Object.hasOwn(negotiated, name)).map(({ client, negotiated }) => `with ${visibleWord(client)}: ${negotiated[name].map(visibleWord).join(', ')}`),
    ...clients.flatMap(({ client, lost: theirs }) => theirs.filter(({ server: only }) => only === undefined || only === name).map((each) => `with ${visibleWord(client)}: ${lost(each)}`)),
  ].filter(Boolean).join(' · ');
}

/** What can be done in its state, what helps most first. */
export function actions({ name, state: word, transport }) {
  const post = (verb, done) => () => attempt(async () => { await ask('POST', at(name, verb)); await look(); }, done);
  const remote = transport === 'http' || transport === 'sse';
  return [
    word === 'awaiting-approval' && button('Review and approve', () => openApproval(name), 'main'),
    (word === 'needs-auth') && button('Sign in', () => attempt(() => signIn(name)), 'main'),
    word === 'disabled' && button('Enable', post('enable', `${name} is enabled.`), 'main'),
    ['connected', 'idle', 'failed', 'pending', 'needs-auth'].includes(word) && button('Reconnect', post('reconnect', `Reconnecting ${name}.`), word === 'failed' ? 'main' : ''),
    word !== 'disabled' && button('Disable', post('disable', `${name} is disabled.`)),
    remote && ['connected', 'idle'].includes(word) && button('Sign out', () => signOut(name)),
  ].filter(Boolean);
}

async function signOut(name) {
  const told = await attempt(() => ask('POST', at(name, 'sign-out')));
  if (!told) return;
  notice(told.signedOut ? `Signed out of ${name}.` : `No one was signed in to ${name}.`);
  if (told.problem) notice(told.problem, 'wrong');
  await attempt(look);
}

/** What runs for it, and the memory of that. */
function processes(name) {
  const element = h('section', {});
  let running;
  async function read() {
    const told = named(name)?.stats && await ask('GET', at(name, 'processes')).catch(() => undefined);
    if (!told?.processes.length) {
      element.replaceChildren(h('p', { className: 'faint' }, 'No process runs for this server.'), button('Refresh', read));
      return;
    }
    const depth = new Map();
    const rows = told.processes.map(({ pid, parent, name: own, program = own, resident }) => {
      depth.set(pid, depth.has(parent) ? depth.get(parent) + 1 : 0);
      return [[`${'\u2003'.repeat(depth.get(pid))}${program}`, !program.startsWith(own) && h('small', {}, ` calls itself ${own}`)], pid, memory(resident)];
    });
    element.replaceChildren(
      h('p', {}, `${count(told.processes.length, 'process', 'processes')}, ${memory(told.resident)} together`),
      table('Processes', ['Program', '#Process', '#Memory'], rows),
      button('Refresh', read));
  }
  return {
    element,
    update() {
      // Read when it was started anew, and not with every call.
      const pid = (named(name)?.stats?.pids ?? [named(name)?.stats?.pid]).join(' ');
      if (pid !== running) read();
      running = pid;
    },
  };
}

function remove(name) {
  open(`Remove ${name}?`, (close) => [
    h('p', {}, `Its entry is taken out of ${named(name)?.at?.origin ?? 'its file'}.`),
    h('div', { className: 'actions' }, button('Remove it', async () => {
      close();
      const scope = named(name)?.scope;
      const done = await attempt(async () => { await ask('DELETE', at(name, `?scope=${part(scope ?? '')}`).replace('/?', '?')); await look(); return true; }, `${name} is removed.`);
      if (done) document.querySelector('dialog.drawer')?.close();
    }, 'grave'), button('Cancel', close)),
  ]);
}
