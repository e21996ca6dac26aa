/**
 * An app of a server, beside the tool that it belongs to. The app runs in a frame of another origin, which the hub announces
 * with the app's own policy; this page and the app exchange nothing but messages. What an app may not do is told here.
 */

import { ask } from './api.js';
import { host } from './app-host.js';
import { link } from './app-link.js';
import { resultOf } from './content.js';
import { button, facts, h, notice, pre, wrong } from './dom.js';
import { card } from './questions.js';
import { call } from './request.js';
import { known } from './store.js';

const TYPE = 'text/html;profile=mcp-app';
/** Characters of an app's document. */
const MAX_DOCUMENT = 16 << 20;
/** How long the frame may take to load, an app to begin, and an app to end. */
const [LOAD_MILLIS, START_MILLIS, END_MILLIS] = [10_000, 15_000, 1000];
/** Lines of notes, and of an app's log. */
const MAX_LINES = 30;

const PROBLEMS = {
  navigated: 'The app tried to leave for another page. It was closed.',
  flood: 'The app sent too many messages. It was closed.',
  elsewhere: 'The frame of the app shows another page. It was closed.',
  large: 'The app sent a message that is too large. It was not passed on.',
  forged: 'The app sent a message in the name of its frame. It was ignored.',
  unreadable: 'The app sent something that is no message. It was ignored.',
};
/** After these the app is closed. */
const FATAL = new Set(['navigated', 'flood', 'elsewhere']);

/** @returns {string | undefined} the address of a tool's app */
export function appOf(item) {
  const uri = item?._meta?.ui?.resourceUri ?? item?._meta?.['ui/resourceUri'];
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : undefined;
}

/** The document of an app, and what its server says of it. */
async function load(server, uri, signal) {
  const result = await call({ method: 'resources/read', params: { uri } }, { app: server, signal });
  const content = (result?.contents ?? []).find((each) => each?.uri === uri) ?? result?.contents?.[0] ?? {};
  const type = String(content.mimeType ?? '').toLowerCase().replaceAll(' ', '');
  if (type !== TYPE) throw { title: `${uri} is no app`, detail: `its type is ${type || 'not given'}, not ${TYPE}` };
  const html = typeof content.text === 'string' ? content.text : decoded(content.blob);
  if (html.length > MAX_DOCUMENT) throw { title: `${uri} is too large`, detail: `${html.length} characters` };
  const listed = known.catalog.resources.find((each) => each.server === server && each.item?.uri === uri);
  return { html, meta: content._meta?.ui ?? listed?.item?._meta?.ui ?? {} };
}

function decoded(blob) {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(String(blob ?? '')), (char) => char.charCodeAt(0)));
  } catch {
    throw { title: 'the document of the app is neither text nor base64' };
  }
}

/** What an app may do, for people. */
function rights({ csp, permissions }, { domain }, granted, allow) {
  const reach = [...new Set([csp.connectDomains, csp.resourceDomains, csp.frameDomains].flat())];
  const asked = permissions.filter((name) => !granted.includes(name));
  return [
    facts([
      ['May reach', reach.length ? reach.join(', ') : 'nothing but this page'],
      ['May use', granted.join(', ')],
      ['Wants an origin', domain && `${String(domain)} (not given: every app has an origin of its own here)`],
    ]),
    asked.length > 0 && button(`Allow ${asked.join(', ')}, and open it again`, () => allow(permissions)),
  ];
}

/** Lines that are told: a line that comes again is counted. */
function notes() {
  const element = h('div', { className: 'notes', role: 'log', 'aria-label': 'What the app did', tabindex: '0' });
  const counts = new Map();
  return {
    element,
    add(text, className = '') {
      const { count = 0, line } = counts.get(text) ?? {};
      const shown = count ? `${text} (${count + 1} times)` : text;
      if (line?.isConnected) line.textContent = shown;
      const now = line?.isConnected ? line : h('p', { className }, shown);
      if (!now.isConnected) element.append(now);
      while (element.childElementCount > MAX_LINES) element.firstElementChild?.remove();
      counts.set(text, { count: count + 1, line: now });
      if (counts.size > 4 * MAX_LINES) counts.clear();
    },
  };
}

/** One running app. `over` is called when it has ended. */
function run(listed, uri, granted, { place, said, again, over }) {
  const { server } = listed;
  const ending = new AbortController();
  const { signal } = ending;
  const asked = h('div', {});
  const messages = h('div', {});
  const model = h('div', {});
  const about = h('div', {});
  const hold = h('div', { className: 'app-frame' });
  const larger = button('Larger', () => app?.show(app.mode() === 'inline' ? 'fullscreen' : 'inline'));
  let app, frame, connection;
  /** What the app is told once there is one. */
  const early = [];
  const tell = (method, params) => (app ? app.tell(method, params) : early.push([method, params]));

  function end() {
    if (signal.aborted) return;
    ending.abort();
    connection?.close();
    frame?.remove();
    place.closest('dialog')?.classList.remove('full');
    over();
  }

  async function close(reason) {
    if (signal.aborted) return;
    if (app?.isReady()) {
      const answer = await connection.ask('ui/resource-teardown', { reason }, END_MILLIS);
      if (!answer && !signal.aborted) notice(`The app of ${server} did not answer before it was closed.`, 'wrong');
    }
    end();
  }

  function problem(kind) {
    said.add(PROBLEMS[kind] ?? `The app did something that this page does not know: ${kind}`, 'wrong');
    if (FATAL.has(kind)) end();
  }

  const late = (millis, isDone, text) => setTimeout(() => { if (!signal.aborted && !isDone()) said.add(text, 'wrong'); }, millis);

  /** Asks whether a page may be opened, one page at a time. */
  function mayOpen(page) {
    if (asked.querySelector('[data-link]')) return Promise.resolve(false);
    return new Promise((resolve) => {
      const answer = (yes) => { question.remove(); resolve(yes); };
      const go = () => { window.open(page.href, '_blank', 'noopener,noreferrer'); answer(true); };
      const question = h('article', { className: 'card', 'data-link': '' },
        h('h2', {}, `The app of ${server} wants to open a page of`), h('p', { className: 'host' }, page.host), pre(page.href),
        h('div', { className: 'actions' }, button(`Open ${page.host}`, go, 'main'), button('Decline', () => answer(false), 'grave')));
      asked.append(question);
      signal.addEventListener('abort', () => answer(false));
    });
  }

  const view = {
    notify: (method, params) => connection.notify(method, params),
    frame: hold,
    resize: (height) => { if (frame) frame.style.height = `${height}px`; },
    show(mode) {
      place.closest('dialog')?.classList.toggle('full', mode === 'fullscreen');
      larger.textContent = mode === 'fullscreen' ? 'Smaller' : 'Larger';
    },
    close: () => { close('the app asked for it'); },
    message: (content) => messages.replaceChildren(h('h3', {}, 'Message for the conversation'), ...resultOf({ content })),
    context: ({ content = [], structuredContent }) => model.replaceChildren(h('h3', {}, 'Context for the model'), ...resultOf({ content: [content].flat(), structuredContent })),
    log: (text) => said.add(text, 'faint'),
    refuse: (text) => said.add(text, 'wrong'),
    question: (question) => { const shown = card(question, () => shown.remove()); asked.append(shown); },
    mayOpen,
  };

  async function start() {
    const { html, meta } = await load(server, uri, signal);
    const policy = await ask('POST', 'apps', { csp: meta.csp, permissions: meta.permissions });
    if (signal.aborted) return;
    for (const { member, value, reason } of policy.dropped) said.add(`${member} of the app is left out: ${value} (${reason})`, 'wrong');
    about.replaceChildren(...rights(policy, meta, granted, again).filter(Boolean));
    hold.classList.toggle('bordered', meta.prefersBorder !== false);
    frame = /** @type {HTMLIFrameElement} */ (h('iframe', {
      title: `App of ${server}`, src: policy.url, sandbox: 'allow-scripts allow-same-origin allow-forms', allow: granted.join('; '),
      referrerpolicy: 'no-referrer', credentialless: true,
    }));
    app = host(listed, { csp: policy.csp, granted, signal }, view);
    for (const each of early.splice(0)) app.tell(...each);
    let isLoaded = false;
    let hasBegun = false;
    connection = link(frame, policy.origin, {
      ready() {
        if (isLoaded) return;
        isLoaded = true;
        late(START_MILLIS, () => hasBegun, `The app has not begun within ${START_MILLIS / 1000} seconds.`);
        connection.notify('ui/notifications/sandbox-resource-ready', { html, permissions: granted });
      },
      request: (method, params) => { hasBegun = true; return app.request(method, params); },
      notification: app.notification,
      problem,
    });
    late(LOAD_MILLIS, () => isLoaded, `The frame for apps does not load from ${policy.origin}. `
      + 'Where this page comes through a tunnel, that port has to come through it too, or `--apps-origin` has to name another address.');
    hold.replaceChildren(frame);
  }

  place.replaceChildren(
    h('div', { className: 'bar' }, h('h2', {}, `App of ${server}`), larger, button('Close the app', () => close('a person closed it'))),
    about, asked, hold, messages, model);
  start().catch((failed) => { if (!signal.aborted) { said.add(wrong(failed), 'wrong'); end(); } });
  return { tell, close };
}

/**
 * The place of a tool's app. It can be opened before a call, when it follows what is filled in, and shows each call.
 * @param {{ server: string, item?: any }} listed
 * @param {string} uri
 */
export function appCard(listed, uri) {
  const place = h('div', {});
  const said = notes();
  /** What the latest call was, for an app that is opened after it. */
  let args, outcome, granted = [];
  let running, hasInput = false;

  const idle = () => {
    running = undefined;
    place.replaceChildren(h('p', { className: 'faint' }, 'This tool has an app of its server, which runs apart from this page.'), button('Open the app', open));
  };

  function open() {
    hasInput = false;
    running = run(listed, uri, granted, { place, said, over: idle, again: (names) => { granted = names; reopen(); } });
    if (args) input();
    if (outcome) running.tell(...outcome);
  }

  async function reopen() {
    await running?.close('it is opened again');
    open();
  }

  function input() {
    hasInput = true;
    running?.tell('ui/notifications/tool-input', { arguments: args });
  }

  function ended(...how) {
    outcome = how;
    running?.tell(...how);
  }

  idle();
  return {
    element: h('section', { className: 'app', 'aria-label': 'App' }, place, said.element),
    /** The person fills in the form. */
    partial(values) { if (running && !hasInput) running.tell('ui/notifications/tool-input-partial', { arguments: values }); },
    async began(values) {
      const before = running && hasInput ? running : undefined;
      args = values;
      outcome = undefined;
      if (before) await reopen();
      else if (running) input();
      else open();
    },
    done: (result) => ended('ui/notifications/tool-result', result),
    cancelled: (reason) => ended('ui/notifications/tool-cancelled', { reason }),
    close: () => running?.close('the window was closed'),
  };
}
