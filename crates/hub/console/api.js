/** The hub, over its admin API. `docs/reference/admin.md` lists every address. */

/** Whether this is the page for the people of `serve`, and not that of the person who runs the hub. */
export const isForPeople = location.pathname === '/console/';

/** The API for each of them. */
const API = isForPeople ? '/console/api/v1' : '/api/v1';

/** Where the page keeps its half of the pass. */
const KEPT = 'switchboard-pass';

/** Shows an invitation and keeps what is given for it. */
export async function enter(invitation) {
  const response = await fetch('/console/enter', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ invitation }),
  });
  if (!response.ok) {
    // The link was used, perhaps by this very browser, which is let in then.
    if (await isLetIn()) return;
    throw await response.json();
  }
  localStorage.setItem(KEPT, (await response.json()).pass);
}

/** Whether the pass that this browser has is good. */
const isLetIn = () => ask('GET', 'status').then(() => true, () => false);

/**
 * One request. Throws the problem that the hub answers with.
 * @returns {Promise<any>} the JSON of the answer, or `undefined` where there is none
 */
export async function ask(method, path, body) {
  const response = await send(method, path, { body });
  const text = await response.text();
  return text ? JSON.parse(text) : undefined;
}

/**
 * A stream of events, until it ends or `signal` ends it.
 * @param {{ body?: unknown, signal?: AbortSignal, after?: string }} [options] `after` is the id of the last event known
 * @returns {AsyncGenerator<{ name: string, data: any, id?: string }>}
 */
export async function* events(method, path, options = {}) {
  const response = await send(method, path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    yield* blocks.map(event).filter(Boolean);
  }
}

/** One event of a stream; nothing for a sign of life. */
function event(block) {
  const lines = block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]);
  const { event: name, data, id } = Object.fromEntries(lines);
  return data === undefined ? undefined : { name, data: JSON.parse(data), id };
}

async function send(method, path, { body, signal, after } = {}) {
  const headers = { 'x-switchboard-pass': localStorage.getItem(KEPT) ?? '' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (after) headers['last-event-id'] = after;
  const response = await fetch(`${API}/${path}`, {
    method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (response.ok) return response;
  throw await response.json().catch(() => ({ kind: 'failed', title: `the hub answered ${response.status}` }));
}

/** Signs this browser out of the page for people, which then asks whose browser it is. */
export async function leave() {
  await fetch('/sign-in/leave', { method: 'POST' });
  location.reload();
}

/** A name as it stands in a path. */
export const part = encodeURIComponent;
