/** What is known of the hub, kept current from what happens in it. */

import { ask, part } from './api.js';
import { calmly } from './dom.js';
import { begin, lookAt } from './link.js';
import { notify } from './notify.js';

/** Calls that are remembered. */
const CALLS = 2000;

/** Everything that is known. Views read it and never write it. */
export const known = {
  /** @type {'open' | 'lost' | 'refused' | 'opening'} */ link: 'opening',
  /** @type {Array<{ id: string, root: string, agent?: string }>} */ workspaces: [],
  /** @type {string | undefined} */ workspace: undefined,
  /** @type {string | undefined} */ session: undefined,
  servers: [], problems: [], approvals: [], clients: [],
  catalog: { servers: [], tools: [], prompts: [], resources: [], templates: [] },
  /** @type {Map<string, any>} */ questions: new Map(),
  /** What was answered for longer than a session. */ answers: [],
  /** The newest first. */ calls: [],
};

const listeners = new Set();

/** Has `listener` called with every topic that changed: `link`, `servers`, `catalog`, `questions`, `calls`. */
export function follow(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const changed = (topic) => listeners.forEach((listener) => listener(topic));

/** An address of the workspace. */
export const here = (rest) => `workspaces/${part(known.workspace ?? '')}/${rest}`;

/** An address of a server in it. */
export const at = (server, rest = '') => here(`servers/${part(server)}${rest && `/${rest}`}`);

/** Looks at the servers now. */
export async function look() {
  if (!known.workspace) return;
  const [{ servers, problems }, { pending }, { attached }] =
    await Promise.all([ask('GET', here('servers')), ask('GET', here('approvals')), ask('GET', 'status')]);
  Object.assign(known, { servers, problems, approvals: pending, clients: attached });
  changed('servers');
}

/** Looks at everything servers offer now. */
export async function lookAtCatalog() {
  if (!known.workspace) return;
  known.catalog = await ask('GET', here('catalog'));
  changed('catalog');
}

/** Looks at the questions that wait, and at the answers that are remembered. */
export async function lookAtQuestions() {
  const [{ questions }, { answers }] = await Promise.all([ask('GET', 'questions'), ask('GET', 'answers')]);
  known.answers = answers;
  known.questions = new Map(questions.map((question) => [question.id, question]));
  changed('questions');
}

async function lookAtCalls() {
  known.calls = (await ask('GET', `activity?calls=${CALLS}`)).calls.reverse();
  changed('calls');
}

const lookSoon = calmly(() => look().catch(lost));
const catalogSoon = calmly(() => lookAtCatalog().catch(lost), 400);
/** An answer may be one to remember, which is kept after the question has gone. */
const questionsSoon = calmly(() => lookAtQuestions().catch(lost), 400);
const lost = (problem) => { if (problem?.kind === 'unauthorized') linked('refused'); };

function linked(link) {
  if (known.link === link) return;
  known.link = link;
  changed('link');
}

/** Everything anew. */
async function lookAtAll() {
  await lookAtWorkspaces();
  await Promise.all([look(), lookAtQuestions(), lookAtCalls()]);
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
  Object.assign(known, { workspace, session: undefined, servers: [], problems: [], approvals: [] });
  changed('link');
  lookAt(workspace);
  lookSoon();
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
  },
};

/** Begins, and goes on for as long as the page is there. */
export async function start() {
  await all();
  begin((name, data) => NEWS[name]?.(data));
}
