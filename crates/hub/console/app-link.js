/**
 * JSON-RPC with one app, over the frame that shows it. Messages count only if they come from that frame's own window and
 * from the origin of the apps' listener; what an app sends around its frame is reported and ignored.
 */

/** Requests of an app that may run at once. */
const MAX_RUNNING = 32;
/** Messages around the frame, after which the app is stopped. */
const MAX_STRAYS = 20;
/** How deep frames inside an app are looked for. */
const MAX_DEPTH = 8;
/** Methods that only the frame itself uses. */
const RESERVED = 'ui/notifications/sandbox-';

/** An error with a code of JSON-RPC, for an app. */
export const rpcError = (code, message) => ({ code, message });

/**
 * @param {HTMLIFrameElement} frame
 * @param {string} origin of the frame
 * @param {{
 *   ready: () => void,
 *   request: (method: string, params: any) => Promise<any>,
 *   notification: (method: string, params: any) => void,
 *   problem: (kind: string) => void,
 * }} handlers
 */
export function link(frame, origin, { ready, request, notification, problem }) {
  const waiting = new Map();
  let [running, strays, asked] = [0, 0, 0];
  const send = (message) => frame.contentWindow?.postMessage({ jsonrpc: '2.0', ...message }, origin);
  const fail = (id, code, message) => send({ id, error: { code, message } });

  async function answer({ id, method, params }) {
    if (running >= MAX_RUNNING) return fail(id, -32000, `more than ${MAX_RUNNING} requests at once`);
    running += 1;
    try {
      send({ id, result: await request(method, params) });
    } catch (wrong) {
      fail(id, wrong?.code ?? -32000, String(wrong?.message ?? wrong?.title ?? wrong));
    } finally {
      running -= 1;
    }
    return undefined;
  }

  function reserved(method, params) {
    if (method === 'proxy-ready') ready();
    if (method !== 'problem') return;
    if (params?.id !== undefined) fail(params.id, -32600, 'the message is too large');
    problem(String(params?.kind));
  }

  function receive(message) {
    if (typeof message !== 'object' || message === null) return;
    const { id, method } = message;
    const params = typeof message.params === 'object' && message.params !== null ? message.params : {};
    const isId = ['string', 'number'].includes(typeof id);
    if (typeof method !== 'string') waiting.get(id)?.(message);
    else if (method.startsWith(RESERVED)) reserved(method.slice(RESERVED.length), params);
    else if (isId) answer({ id, method, params });
    else notification(method, params);
  }

  /** Whether a window is inside the frame: the app, or a frame of the app. */
  function isInside(source) {
    let at = source;
    for (let depth = 0; at && depth < MAX_DEPTH; depth += 1) {
      if (at.parent === frame.contentWindow) return at !== frame.contentWindow;
      at = at.parent;
    }
    return false;
  }

  function hear({ source, origin: from, data }) {
    if (source === frame.contentWindow) {
      if (from === origin) receive(data);
      else problem('elsewhere');
    } else if (isInside(source)) {
      strays += 1;
      if (strays === 1) problem('forged');
      if (strays >= MAX_STRAYS) problem('flood');
    }
  }
  window.addEventListener('message', hear);

  return {
    notify: (method, params) => send({ method, params }),
    /** Asks the app something; `undefined` where it does not answer in time. */
    ask(method, params, millis) {
      const id = `host-${++asked}`;
      send({ id, method, params });
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(undefined), millis);
        waiting.set(id, (message) => { clearTimeout(timer); resolve(message); });
      }).finally(() => waiting.delete(id));
    },
    close: () => window.removeEventListener('message', hear),
  };
}
