/** Requests to servers, over the hub's calls. */

import { events, part } from './api.js';
import { here, known } from './store.js';

/**
 * The address of a call in the session of this page.
 * @param {{ repeats?: string, app?: string, results?: string }} [options] `repeats` names the call that is made again,
 *   `app` the server whose app makes the call, `results: 'whole'` asks for a result that is not cut
 */
export function address(options = {}) {
  const pairs = Object.entries({ session: known.session, ...options }).filter(([, value]) => value);
  return here(`call?${pairs.map(([name, value]) => `${name}=${part(value)}`).join('&')}`);
}

/** The error of a call, as a problem. */
export const failure = ({ error = {} }) => ({ title: (error.causes ?? []).join(': '), hint: error.hint });

/**
 * Makes a call and waits for its result.
 * @param {{ app?: string, signal?: AbortSignal, question?: (asked: any) => void }} [options] `question` gets what a person is asked meanwhile
 * @returns {Promise<any>} the result
 */
export async function call(request, { app, signal, question } = {}) {
  for await (const { name, data } of events('POST', address({ app }), { body: request, signal })) {
    if (name === 'question') question?.(data);
    if (name === 'done') return data.result;
    if (name === 'failed') throw failure(data);
  }
  throw { title: 'the hub has ended' };
}
