/** One server: everything that is known of it, its log, its entry, and what can be done with it. */

import { ask, part } from './api.js';
import { signIn } from './calling.js';
import { attempt, button, facts, h, notice, open, pre, visibleJson, visibleWord, wrong } from './dom.js';
import { at, follow, here, known, look } from './store.js';

const TONES = { connected: 'good', failed: 'bad', invalid: 'bad', blocked: 'bad', rejected: 'bad', 'needs-auth': 'warn', 'awaiting-approval': 'warn' };

/** The state in a word. */
export const state = ({ state: word, silentSince }) => (silentSince
  ? h('span', { className: 'state warn' }, 'does not answer')
  : h('span', { className: `state ${TONES[word] ?? ''}` }, word.replaceAll('-', ' ')));

const moment = (millis) => millis && new Date(millis).toLocaleString();

const named = (name) => known.servers.find((server) => server.name === name);

/** A window for it, which stays current. */
export function openServer(name) {
  const place = h('div', {});
  const family = h('div', {});
  const lines = h('div', {});
  const entry = h('div', {});
  let running;
  const draw = () => place.replaceChildren(...(named(name) ? about(named(name)) : [h('p', {}, 'It is gone.')]));
  const update = () => {
    draw();
    // Looked at when it was started anew, and not with every call.
    const pid = (named(name)?.stats?.pids ?? [named(name)?.stats?.pid]).join(' ');
    if (pid !== running) {
      if (pid) processes(name, family);
      else family.replaceChildren();
    }
    running = pid;
  };
  const unfollow = follow((topic) => { if (topic === 'servers') update(); });
  update();
  open(name, (close) => [
    place, family,
    h('div', { className: 'actions' },
      button('Show its log', () => log(name, lines)),
      button('Show its entry', () => edit(name, entry)),
      button('Remove', () => remove(name, close), 'grave')),
    lines, entry,
  ], unfollow);
}

function about(server) {
  const { name, scope, at: place, transport, error, why, lastTriedAt, retryInMillis, silentSince, serverName, serverVersion, protocol, era, offers = [], connectMillis, toolCount, cost, connections, affectedConnections, stats = {} } = server;
  const { latency } = stats;
  const users = known.clients.filter(({ servers = {} }) => name in servers).map((client) => client.name || client.session);
  return [
    h('p', {}, state(server)),
    error && h('p', { className: 'wrong' }, (error.causes ?? []).join('\n'), error.hint && `\nhint: ${error.hint}`),
    why && h('p', {}, why),
    facts([
      ['Affects', affectedConnections && `${affectedConnections === 1 ? 'one' : affectedConnections} of ${connections} connections`],
      ['Scope', scope], ['File', place && `${place.origin}:${place.line}`], ['Transport', transport],
      ['It calls itself', [serverName, serverVersion].filter(Boolean).join(' ')], ['Protocol', protocol && `${protocol}, ${era}`],
      ['Offers', offers.join(', ')], ['Connected in', connectMillis !== undefined && `${connectMillis} ms`],
      ['No answer since', moment(silentSince)], ['Last tried', moment(lastTriedAt)],
      ['Tried again in', retryInMillis && `${Math.round(retryInMillis / 1000)} s`],
      ['Tools', toolCount ? `${toolCount}, which cost ${cost} tokens` : undefined],
      ['Calls in flight', stats.callsInFlight || undefined],
      ['Latency', latency && `half within ${latency.p50Millis} ms, all but one of a hundred within ${latency.p99Millis} ms`],
      ['Restarts', stats.restarts || undefined], ['Process', (stats.pids ?? [stats.pid]).filter(Boolean).join(', ')], ['Clients that used it', users.join(', ')],
      ['Last trouble', stats.lastError?.causes?.join(': ')],
    ]),
    h('div', { className: 'actions' }, actions(server)),
  ].filter(Boolean);
}

/** What can be done in its state, what helps most first. */
export function actions({ name, state: word, transport }) {
  const post = (verb, done) => () => attempt(async () => { await ask('POST', at(name, verb)); await look(); }, done);
  const remote = transport === 'http' || transport === 'sse';
  return [
    word === 'awaiting-approval' && button('Review and approve', () => openApproval(name), 'main'),
    (word === 'needs-auth') && button('Sign in', () => attempt(() => signIn(name)), 'main'),
    word === 'disabled' && button('Enable', post('enable', `${name} is on.`), 'main'),
    ['connected', 'failed', 'pending', 'needs-auth'].includes(word) && button('Reconnect', post('reconnect', `${name} is connected to anew.`), word === 'failed' ? 'main' : ''),
    word !== 'disabled' && button('Disable', post('disable', `${name} is off.`)),
    remote && word === 'connected' && button('Sign out', () => signOut(name)),
  ].filter(Boolean);
}

async function signOut(name) {
  const told = await attempt(() => ask('POST', at(name, 'sign-out')));
  if (!told) return;
  notice(told.signedOut ? `Signed out of ${name}.` : `Nobody was signed in to ${name}.`);
  if (told.problem) notice(told.problem, 'wrong');
  await attempt(look);
}

/** What runs for it, and the memory of that. */
async function processes(name, place) {
  const told = await ask('GET', at(name, 'processes')).catch(() => undefined);
  if (!told?.processes.length) return place.replaceChildren();
  const depth = new Map();
  const rows = told.processes.map(({ pid, parent, name: program, resident }) => {
    depth.set(pid, depth.has(parent) ? depth.get(parent) + 1 : 0);
    return h('tr', {}, h('td', {}, `${'\u2003'.repeat(depth.get(pid))}${program}`), h('td', {}, pid), h('td', {}, memory(resident)));
  });
  return place.replaceChildren(
    h('h2', { id: 'processes' }, `Processes, ${memory(told.resident)} together`),
    h('table', { 'aria-labelledby': 'processes' },
      h('thead', {}, h('tr', {}, ['Program', 'Process', 'Memory'].map((each) => h('th', { scope: 'col' }, each)))),
      h('tbody', {}, rows)),
    button('Look again', () => processes(name, place)));
}

const memory = (bytes) => (bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`);

/** What would run: all of it, as it stands in the file, and what has changed since it was approved last. */
export function openApproval(name) {
  const cases = known.approvals.filter((each) => each.name === name);
  if (!cases.length) return notice(`Nothing called ${name} awaits approval.`);
  return open(`Approve ${visibleWord(name)}?`, (close) => cases.map((each) => {
    const decide = (verdict, done) => () => attempt(async () => {
      await ask('POST', here('approvals'), { name: each.name, digest: each.digest, verdict });
      close();
      await look();
    }, done);
    return h('section', { className: 'approval' },
      h('p', {}, `The ${each.kind} comes from the project's own files. Once approved, exactly this may run:`),
      runs(each.content).map((line) => h('p', { className: 'host' }, line)),
      h('pre', { tabindex: '0' }, visibleJson(each.content, 2)), facts([['File', visibleWord(`${each.at.origin}:${each.at.line}`)]]),
      each.changes?.length > 0 && h('div', {}, h('h2', {}, 'Changed since you approved it'),
        facts(each.changes.map(({ field, before, after }) => [visibleWord(field), `${show(before)} → ${show(after)}`]))),
      h('div', { className: 'actions' }, button('Approve', decide('approve', `${name} is approved.`), 'main'), button('Reject', decide('reject', `${name} is rejected.`), 'grave')));
  }));
}

/** The command line and the address in something that awaits approval, as far as it has any. */
function runs(content) {
  if (typeof content === 'string') return [visibleWord(content)];
  const { command, args, url } = content ?? {};
  const shown = (word) => (typeof word === 'string' ? visibleWord(word) : visibleJson(word));
  const words = command === undefined ? [] : [command, ...(Array.isArray(args) ? args : [])].map(shown);
  return [words.join(' '), typeof url === 'string' && visibleWord(url)].filter(Boolean);
}

const show = (value) => (value === undefined ? 'nothing' : visibleJson(value));

async function log(name, place) {
  const told = await attempt(() => ask('GET', at(name, 'logs?lines=200')));
  if (told) place.replaceChildren(h('h2', {}, 'Log'), pre(told.lines.join('\n') || 'It has written nothing.'));
}

/** Its entry, to be changed. What is hidden stays what it is. */
async function edit(name, place) {
  const told = await attempt(() => ask('GET', at(name)));
  if (!told) return;
  if (!told.writable) {
    place.replaceChildren(h('h2', {}, 'Entry'), pre(told.entry));
    return;
  }
  const text = h('textarea', { 'aria-label': 'Entry', spellcheck: 'false', value: JSON.stringify(told.entry, null, 2) });
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const save = async () => {
    try {
      problem.textContent = '';
      await ask('PUT', at(name, `?scope=${part(told.scope)}`).replace('/?', '?'), { entry: JSON.parse(text.value) });
      await attempt(look, `${name} is changed.`);
    } catch (refused) {
      problem.textContent = wrong(refused);
    }
  };
  place.replaceChildren(h('h2', {}, 'Entry'), text, problem, h('div', { className: 'actions' }, button('Save', save, 'main')));
}

function remove(name, close) {
  open(`Remove ${name}?`, (closeThis) => [
    h('p', {}, `Its entry is taken out of ${named(name)?.at?.origin ?? 'its file'}.`),
    h('div', { className: 'actions' }, button('Remove it', async () => {
      closeThis();
      const scope = named(name)?.scope;
      const done = await attempt(async () => { await ask('DELETE', at(name, `?scope=${part(scope ?? '')}`).replace('/?', '?')); await look(); return true; }, `${name} is removed.`);
      if (done) close();
    }, 'grave')),
  ]);
}
