/**
 * What happens in the hub, for every tab of this browser.
 *
 * Browsers open few connections to one host, and a stream takes one for as long as it lasts. So one tab reads for all of
 * them: whoever has the lock. It tells the others over a channel, holds open what each of them looks at, and when it is
 * closed another takes up where it ended.
 */

import { events, isForPeople, part } from './api.js';

/** How long to wait before the stream is taken up again, at first and at most. */
const [SOON, LATE] = [500, 8000];

/** Both pages may be open at one origin, and their events are not the same. */
const CHANNEL = isForPeople ? 'switchboard-people' : 'switchboard';
const channel = new BroadcastChannel(CHANNEL);
const tab = crypto.randomUUID();

/** The workspace that each tab looks at, and the session in each of them: known to whoever reads. */
const looks = new Map();
const sessions = new Map();

let deliver = (_name, _data) => {};
let mine, after;
let link = 'opening';
/** The hub said that it ends. */
let hasEnded = false;
let isReader = false;
let current = new AbortController();
let wait = SOON;
let giveUp = () => {};

/**
 * Begins, and goes on for as long as the page is there.
 * @param {(name: string, data: any) => void} listener hears every event, and `link` when the connection is not what it was
 */
export function begin(listener) {
  deliver = listener;
  channel.postMessage({ look: { tab, workspace: mine } });
  window.addEventListener('pagehide', () => channel.postMessage({ look: { tab } }));
  if (navigator.locks) navigator.locks.request(CHANNEL, lead);
  else lead();
}

/** Has a workspace held open while this tab looks at it. */
export function lookAt(workspace) {
  mine = workspace;
  channel.postMessage({ look: { tab, workspace } });
  if (isReader) looked({ tab, workspace });
}

channel.addEventListener('message', ({ data: { event, look, who } }) => {
  if (event) hear(event);
  if (look && isReader) looked(look);
  if (who) channel.postMessage({ look: { tab, workspace: mine } });
});

function hear({ name, data, id }) {
  after = id ?? after;
  if (name === 'link') link = data;
  deliver(name, data);
}

function tell(event) {
  // Two streams overlap for a moment when one takes the place of another.
  if (event.id && event.id.split('-')[0] === after?.split('-')[0] && number(event.id) <= number(after)) return;
  hear(event);
  channel.postMessage({ event });
}

const number = (id) => Number(id.split('-')[1]);
const linked = (data) => tell({ name: 'link', data });

/** Reads for all, until the page goes or is not let in any more: then another may try. */
function lead() {
  isReader = true;
  if (mine) looks.set(tab, mine);
  channel.postMessage({ who: true });
  return new Promise((resolve) => { giveUp = resolve; read(); });
}

/** A tab looks at something else, or has come or gone. */
function looked({ tab: of, workspace }) {
  const before = held();
  if (workspace) looks.set(of, workspace);
  else looks.delete(of);
  if (held() !== before) read();
  else if (sessions.has(workspace)) tell({ name: 'opened', data: { id: workspace, session: sessions.get(workspace) } });
  linked(link);
}

const held = () => [...new Set(looks.values())].sort().map((id) => `&hold=${part(id)}`).join('');

/** Reads until the stream ends, and then again, less and less eagerly; until another reader takes its place. */
async function read() {
  const before = current;
  const reading = new AbortController();
  current = reading;
  try {
    for await (const event of events('GET', `events?attend=1${held()}`, { after, signal: reading.signal })) {
      if (event.name === 'ready') {
        // Not earlier: while nobody attends, questions are cancelled.
        before.abort();
        sessions.clear();
        wait = SOON;
        hasEnded = false;
        linked('open');
      }
      if (event.name === 'opened') sessions.set(event.data.id, event.data.session);
      if (event.name === 'gone') for (const [of, workspace] of looks) if (workspace === event.data.id) looks.delete(of);
      if (event.name === 'ending') hasEnded = true;
      tell(event);
    }
  } catch (problem) {
    if (problem?.kind === 'unauthorized' && current === reading) {
      linked('refused');
      isReader = false;
      return giveUp();
    }
  }
  if (current !== reading || reading.signal.aborted) return undefined;
  linked(hasEnded ? 'ended' : 'lost');
  await new Promise((resolve) => setTimeout(resolve, wait));
  wait = Math.min(wait * 2, LATE);
  return current === reading ? read() : undefined;
}
