/**
 * What is known of the hub, kept current.
 *
 * Two streams are open while the page is: one holds the workspace and says when it is not what it was, the other tells
 * what happens in the whole hub and makes this page one that may be asked. Both are taken up again when they end.
 */

import { ask, events, part } from './api.js';
import { calmly } from './dom.js';

/** Calls that are remembered. */
const CALLS = 2000;
/** How long to wait before a stream is taken up again, at first and at most. */
const [SOON, LATE] = [500, 8000];

/** Everything that is known. Views read it and never write it. */
export const known = {
  /** @type {'open' | 'lost' | 'refused' | 'opening'} */ link: 'opening',
  /** @type {Array<{ id: string, root: string, agent?: string }>} */ workspaces: [],
  /** @type {string | undefined} */ workspace: undefined,
  /** @type {string | undefined} */ session: undefined,
  servers: [], problems: [], approvals: [], clients: [],
  catalog: { servers: [], tools: [], prompts: [], resources: [], templates: [] },
  /** @type {Map<string, any>} */ questions: new Map(),
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

async function lookAtQuestions() {
  const { questions } = await ask('GET', 'questions');
  known.questions = new Map(questions.map((question) => [question.id, question]));
  changed('questions');
}

async function lookAtCalls() {
  known.calls = (await ask('GET', `activity?calls=${CALLS}`)).calls.reverse();
  changed('calls');
}

const lookSoon = calmly(() => look().catch(lost));
const catalogSoon = calmly(() => lookAtCatalog().catch(lost), 400);
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

let holding = new AbortController();

/** Turns to another workspace. */
export function choose(workspace) {
  if (workspace === known.workspace) return;
  holding.abort();
  holding = new AbortController();
  Object.assign(known, { workspace, session: undefined, servers: [], problems: [], approvals: [] });
  changed('link');
  if (!workspace) return;
  const { signal } = holding;
  again(signal, async () => {
    for await (const { name, data } of events('POST', here('hold'), { signal })) {
      if (name === 'opened') known.session = data.session;
      if (name === 'question') asked(data);
      if (name === 'opened' || name === 'changed' || name === 'resync') { lookSoon(); catalogSoon(); }
    }
  });
}

const asked = (question) => { known.questions.set(question.id, question); changed('questions'); };

/** What became of a question. */
export function answered(id) {
  if (known.questions.delete(id)) changed('questions');
}

const NEWS = {
  state: lookSoon,
  list: catalogSoon,
  question: asked,
  answered: ({ id }) => answered(id),
  resync: () => lookAtAll().catch(lost),
  called(call) {
    known.calls = [call, ...known.calls].slice(0, CALLS);
    changed('calls');
    lookSoon();
  },
};

/** Begins, and goes on for as long as the page is there. */
export function start() {
  let after;
  again(new AbortController().signal, async () => {
    for await (const { name, data, id } of events('GET', 'events?attend=1', { after })) {
      after = id ?? after;
      if (name === 'ready') {
        await lookAtAll();
        linked('open');
      }
      NEWS[name]?.(data);
    }
  });
}

/** Does it, and again when it has ended, less and less eagerly. */
async function again(signal, work) {
  for (let wait = SOON; !signal.aborted; wait = Math.min(wait * 2, LATE)) {
    const began = Date.now();
    try {
      await work();
    } catch (problem) {
      if (signal.aborted) return;
      if (problem?.kind === 'unauthorized') return linked('refused');
      if (problem?.kind === 'no-such-workspace') await lookAtWorkspaces().catch(lost);
    }
    if (signal.aborted) return;
    linked('lost');
    if (Date.now() - began > LATE) wait = SOON;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
