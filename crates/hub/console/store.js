/** What is known of the hub, kept current from what happens in it. */

import { ask, isForPeople, part } from './api.js';
import { calmly, notice, visibleWord, wrong } from './dom.js';
import { begin, lookAt } from './link.js';
import { notify } from './notify.js';
import { route } from './route.js';

/** Calls that are remembered. */
const CALLS = 2000;

const EMPTY_CATALOG = { servers: [], tools: [], prompts: [], resources: [], templates: [] };

/** Everything that is known. Views read it and never write it. */
export const known = {
  /** Who is at the page. @type {{ principal: string, role: 'local' | 'admin' | 'user' }} */ me: { principal: 'local', role: 'local' },
  /** @type {'open' | 'lost' | 'ended' | 'refused' | 'opening'} */ link: 'opening',
  /** @type {Array<{ id: string, root: string, agent?: string }>} */ workspaces: [],
  /** @type {string | undefined} */ workspace: undefined,
  /** @type {string | undefined} */ session: undefined,
  servers: [], problems: [], extensions: {}, approvals: [], clients: [],
  /** The calls of the last hour, counted. */ traffic: { total: { calls: 0, errors: 0, refused: 0, cancelled: 0, tokens: 0 }, minutes: [], tools: [], servers: [], clients: [] },
  /** Clients on this machine. */ installations: [],
  catalog: EMPTY_CATALOG,
  /** @type {Map<string, any>} */ questions: new Map(),
  /** What was answered for longer than a session. */ answers: [],
  /** Who is signed in to which server, once that was looked for. @type {Array<any> | undefined} */ accounts: undefined,
  /** The servers of all people, for an administrator. */ served: [],
  /** Permission rules, and the mode. */ rules: { rules: [] },
  /** The newest first. */ calls: [],
};

const listeners = new Set();

/** Has `listener` called with every topic that changed: `link`, `servers`, `catalog`, `questions`, `calls`, `traffic`, `rules`, `clients`, `accounts`, `served`. */
export function follow(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const changed = (topic) => listeners.forEach((listener) => listener(topic));

/** The topics that were read: until then an empty list means nothing. */
const topicsRead = new Set();
export const isRead = (...topics) => topics.every((topic) => topicsRead.has(topic));

function readTopic(topic) {
  topicsRead.add(topic);
  changed(topic);
}

/** Topics that belong to one workspace. */
const OF_WORKSPACE = ['servers', 'catalog', 'rules', 'clients'];
/** What views asked for of the workspace. It is read again with each workspace: a view may be shown before there is one. */
const asks = new Set();
const readAsked = () => Promise.all([...asks].map((each) => each()));

/** Reads something of the workspace, and puts it into `known` unless another workspace was chosen meanwhile. */
async function readWorkspace(topic, read) {
  const { workspace } = known;
  if (!workspace) return;
  const told = await read();
  if (workspace !== known.workspace) return;
  Object.assign(known, told);
  readTopic(topic);
}

/** An address of the workspace. */
export const here = (rest) => `workspaces/${part(known.workspace ?? '')}/${rest}`;

/** An address of a server in it. */
export const at = (server, rest = '') => here(`servers/${part(server)}${rest && `/${rest}`}`);

/** What a server starts or connects to, in one line. */
const target = ({ command, args = [], url } = {}) => [command, ...args, url].filter((word) => typeof word === 'string').map(visibleWord).join(' ') || undefined;

/** Looks at the servers now. */
export async function look() {
  if (isForPeople) await lookAsPerson();
  await readWorkspace('servers', readServers);
}

async function readServers() {
  const [{ servers, problems, extensions }, { pending }, { attached }] =
    await Promise.all([ask('GET', here('servers')), ask('GET', here('approvals')), ask('GET', 'status')]);
  const named = servers.map((server) => ({ ...server, target: target(server.entry) }));
  return { servers: named, problems, extensions, approvals: pending, clients: attached };
}

/** Looks at what the people of `serve` see: their clients, and an administrator the servers. */
async function lookAsPerson() {
  const isAdmin = known.me.role === 'admin';
  const [{ attached }, told] = await Promise.all([ask('GET', 'status'), isAdmin ? ask('GET', 'servers') : undefined]);
  Object.assign(known, { clients: attached, served: told?.servers ?? [] });
  readTopic('servers');
}

/** Looks at everything servers offer now. */
export const lookAtCatalog = () => readWorkspace('catalog', async () =>
  ({ catalog: await ask('GET', here(known.session ? `catalog?session=${part(known.session)}` : 'catalog')) }));

/** Looks at the questions that wait, and at the answers that are remembered. */
export async function lookAtQuestions() {
  const [{ questions }, { answers }] = await Promise.all([ask('GET', 'questions'), isForPeople ? { answers: [] } : ask('GET', 'answers')]);
  known.answers = answers;
  known.questions = new Map(questions.map((question) => [question.id, question]));
  readTopic('questions');
}

async function lookAtCalls() {
  known.calls = (await ask('GET', `activity?calls=${CALLS}`)).calls.reverse();
  readTopic('calls');
}

/** Counts the last hour anew. */
export async function lookAtTraffic() {
  // Whoever sees no totals waits for none.
  if (known.me.role === 'user') return readTopic('traffic');
  known.traffic = await ask('GET', 'traffic');
  return readTopic('traffic');
}

/** Looks at the permission rules of the project. */
export function lookAtRules() {
  asks.add(lookAtRules);
  return readWorkspace('rules', async () => ({ rules: await ask('GET', here('rules')) }));
}

/** Looks at the sign-ins of all servers. */
export async function lookAtAccounts() {
  known.accounts = (await ask('GET', 'accounts')).accounts;
  changed('accounts');
}

/** Looks for the clients of this machine. */
export function lookAtClients() {
  asks.add(lookAtClients);
  return readWorkspace('clients', async () => ({ installations: (await ask('GET', here('clients'))).clients }));
}

/** Reads in a moment, unless the hub has gone: when it is there again, all is read anew. */
const soon = (read, millis = undefined) => calmly(() => { if (!['ended', 'lost'].includes(known.link)) read().catch(lost); }, millis);
/** Rules are in the files that servers are in, so that a change of these may be one of those. A sign-in changes a server. */
const lookSoon = soon(() => Promise.all([look(), isRead('rules') && lookAtRules(), route().view === 'accounts' && lookAtAccounts()]));
const catalogSoon = soon(lookAtCatalog, 400);
/** An answer may be one to remember, which is kept after the question has gone. */
const questionsSoon = soon(lookAtQuestions, 400);
const trafficSoon = soon(lookAtTraffic, 1000);
/** An hour goes on, also while nothing happens in it. */
setInterval(() => { if (known.link === 'open' && !document.hidden) trafficSoon(); }, 30_000);
/** A call that begins is no event: where running calls are shown, they are asked for. */
setInterval(() => {
  if (known.link !== 'open' || document.hidden || !['overview', 'clients'].includes(route().view)) return;
  ask('GET', 'status').then(({ attached }) => { known.clients = attached; changed('servers'); }).catch(lost);
}, 2000);
/** A hub that is gone shows in the link; what it refuses is told. */
const lost = (problem) => {
  if (problem?.kind === 'unauthorized') linked('refused');
  else if (problem?.kind) notice(wrong(problem), 'wrong');
};

function linked(link) {
  // The hub said that it ends, and the stream breaks off: nothing was lost.
  if (known.link === link || (known.link === 'ended' && link === 'lost')) return;
  known.link = link;
  changed('link');
}

/** Everything anew. */
async function lookAtAll() {
  if (!isForPeople) await lookAtWorkspaces();
  await Promise.all([look(), lookAtQuestions(), lookAtCalls(), lookAtTraffic(), readAsked()]);
  catalogSoon();
}

async function lookAtWorkspaces() {
  known.workspaces = (await ask('GET', 'workspaces')).workspaces;
  if (!known.workspaces.some(({ id }) => id === known.workspace)) choose(known.workspaces[0]?.id);
  changed('link');
}

/** Turns to another workspace. */
export function choose(workspace) {
  if (workspace === known.workspace) return;
  Object.assign(known, { workspace, session: undefined, servers: [], problems: [], approvals: [], rules: { rules: [] }, installations: [], catalog: EMPTY_CATALOG });
  for (const topic of OF_WORKSPACE) topicsRead.delete(topic);
  changed('link');
  lookAt(workspace);
  Promise.all([look(), readAsked()]).catch(lost);
  catalogSoon();
}

function asked(question) {
  if (!known.questions.has(question.id)) notify(question);
  known.questions.set(question.id, question);
  changed('questions');
}

/** What became of a question. */
export function answered(id) {
  if (!known.questions.delete(id)) return;
  changed('questions');
  questionsSoon();
}

const both = () => { lookSoon(); catalogSoon(); };
const all = () => lookAtAll().catch(lost);

const NEWS = {
  ready: all,
  resync: all,
  link: linked,
  changed: both,
  state: lookSoon,
  list: catalogSoon,
  question: asked,
  answered: ({ id }) => answered(id),
  opened({ id, session }) {
    if (id !== known.workspace) return;
    known.session = session;
    both();
  },
  gone({ id }) { if (id === known.workspace) lookAtWorkspaces().catch(lost); },
  called(call) {
    known.calls = [call, ...known.calls].slice(0, CALLS);
    changed('calls');
    lookSoon();
    trafficSoon();
  },
  ending: () => linked('ended'),
};

/** Begins, and goes on for as long as the page is there. */
export async function start() {
  await all();
  begin((name, data) => NEWS[name]?.(data));
}
