/**
 * The host's side of the protocol of MCP Apps, version 2026-01-26: what an app may ask for, and what it is told. An app calls
 * tools and reads resources of its own server only, as calls that no person typed; the hub checks that once more.
 */

import { rpcError } from './app-link.js';
import { call } from './request.js';

const VERSION = '2026-01-26';
/** The heights that an app may have, in pixels. */
const [MIN_HEIGHT, MAX_HEIGHT] = [40, 4000];
const MODES = ['inline', 'fullscreen'];
/** Characters of one line of an app's log. */
const MAX_LOG = 500;
const dark = window.matchMedia('(prefers-color-scheme: dark)');

/** @param {string} url @returns {URL | undefined} a page that a person may open */
function pageOf(url) {
  const page = URL.canParse(url ?? '') ? new URL(url) : undefined;
  return page && ['https:', 'http:'].includes(page.protocol) && !page.username && !page.password ? page : undefined;
}

/**
 * @param {{ server: string, item?: any }} listed the tool that the app belongs to
 * @param {{ csp: any, granted: string[], signal: AbortSignal }} given what applies to the app
 * @param {{
 *   notify: (method: string, params: any) => void, frame: HTMLElement,
 *   resize: (height: number) => void, show: (mode: string) => void, close: () => void,
 *   message: (content: any[]) => void, context: (params: any) => void, log: (text: string) => void,
 *   refuse: (text: string) => void, question: (asked: any) => void, mayOpen: (page: URL) => Promise<boolean>,
 * }} view what a person sees of the app
 */
export function host({ server, item = {} }, { csp, granted, signal }, view) {
  let isReady = false;
  let mode = MODES[0];
  /** What the app declares. */
  let able = {};
  /** What waits until the app is ready. */
  const waiting = [];

  const theme = () => (dark.matches ? 'dark' : 'light');
  const size = () => ({ width: view.frame.clientWidth, ...(mode === 'inline' ? { maxHeight: MAX_HEIGHT } : { height: view.frame.clientHeight }) });
  const changed = (params) => { if (isReady) view.notify('ui/notifications/host-context-changed', params); };
  const themed = () => changed({ theme: theme() });
  dark.addEventListener('change', themed);
  signal.addEventListener('abort', () => dark.removeEventListener('change', themed));

  /** Tells the app something as soon as it is ready. */
  function tell(method, params) {
    if (isReady) view.notify(method, params);
    else waiting.push([method, params]);
  }

  const mayShow = (wanted) => MODES.includes(wanted) && (able.availableDisplayModes?.includes?.(wanted) ?? true);

  function show(wanted) {
    if (wanted === mode || !mayShow(wanted)) return;
    mode = wanted;
    view.show(mode);
    changed({ displayMode: mode, containerDimensions: size() });
  }

  /** A call of the app; what it may not do is told to the person too. */
  async function placed(method, params) {
    try {
      return await call({ method, params, server }, { app: server, signal, question: view.question });
    } catch (problem) {
      const text = [problem?.title ?? String(problem), problem?.detail].filter(Boolean).join(': ');
      if (problem?.kind === 'foreign') view.refuse(text);
      throw rpcError(-32000, text);
    }
  }

  const requests = {
    ping: () => ({}),
    'ui/initialize'({ appCapabilities = {} }) {
      able = appCapabilities;
      return {
        protocolVersion: VERSION,
        hostInfo: { name: 'switchboard-console', title: 'Switchboard', version: '1' },
        hostCapabilities: {
          openLinks: {}, serverTools: {}, serverResources: {}, logging: {},
          message: { text: {} }, updateModelContext: { text: {}, structuredContent: {} },
          sandbox: { csp, permissions: Object.fromEntries(granted.map((name) => [name === 'clipboard-write' ? 'clipboardWrite' : name, {}])) },
        },
        hostContext: {
          toolInfo: { tool: item }, theme: theme(), displayMode: mode, availableDisplayModes: MODES, containerDimensions: size(),
          locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, userAgent: 'switchboard', platform: 'web',
          deviceCapabilities: { touch: navigator.maxTouchPoints > 0, hover: window.matchMedia('(hover: hover)').matches },
        },
      };
    },
    'tools/call': ({ name, arguments: args }) => placed('tools/call', { name, arguments: args ?? {} }),
    'resources/read': ({ uri }) => placed('resources/read', { uri }),
    'ui/message'({ content }) {
      view.message([content].flat());
      return {};
    },
    'ui/update-model-context'(params) {
      view.context(params);
      return {};
    },
    async 'ui/open-link'({ url }) {
      const page = pageOf(url);
      if (!page) {
        view.refuse(`The app wants to open an address that is no web page: ${String(url).slice(0, MAX_LOG)}`);
        throw rpcError(-32000, 'Invalid URL: only pages of http and https');
      }
      if (!await view.mayOpen(page)) throw rpcError(-32000, 'Link opening denied by user');
      return {};
    },
    'ui/request-display-mode'({ mode: wanted }) {
      show(wanted);
      return { mode };
    },
  };

  const notifications = {
    'ui/notifications/initialized'() {
      if (isReady) return;
      isReady = true;
      for (const [method, params] of waiting.splice(0)) view.notify(method, params);
    },
    'ui/notifications/size-changed'({ height }) {
      if (mode === 'inline' && Number.isFinite(height)) view.resize(Math.min(Math.max(Math.ceil(height), MIN_HEIGHT), MAX_HEIGHT));
    },
    'ui/notifications/request-teardown': () => view.close(),
    'notifications/message'({ level, data }) {
      view.log(`${String(level ?? 'info')}: ${(typeof data === 'string' ? data : JSON.stringify(data) ?? '').slice(0, MAX_LOG)}`);
    },
    'notifications/cancelled'() {},
  };

  return {
    async request(method, params) {
      if (Object.hasOwn(requests, method)) return requests[method](params);
      view.refuse(`The app asks for something that this page does not offer: ${method.slice(0, MAX_LOG)}`);
      throw rpcError(-32601, `this host does not offer ${method.slice(0, MAX_LOG)}`);
    },
    notification: (method, params) => { if (Object.hasOwn(notifications, method)) notifications[method](params); },
    tell,
    show,
    mayShow,
    isReady: () => isReady,
    mode: () => mode,
  };
}
