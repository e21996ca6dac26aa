/**
 * Elements, made of text. Nothing in the console becomes markup: strings are text nodes, and attributes are set one by
 * one from names that stand in this code.
 */

/** Names that are properties of an element, not attributes. */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'className', 'textContent', 'indeterminate', 'max']);

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [props] attributes, properties, and `onclick` and its like
 * @param {...(Node | string | number | null | undefined | false | Array<unknown>)} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter(isThere).map(asNode));
  return element;
}

const isThere = (child) => child !== null && child !== undefined && child !== false;
const asNode = (child) => (child instanceof Node ? child : clean(String(child)));

/** What acts on the reader's screen or is not seen on it; the same as the program takes out of what it prints itself. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u3164\uffa0\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const clean = (text) => text.replace(HIDDEN, '');

/** What a person does not see on a page: all of the above, every blank but the space, selectors of a variant. */
const UNSEEN = new RegExp(`${HIDDEN.source}|(?! )[\\p{Zs}\\t\\n\\u2800\\ufe00-\\ufe0f]`, 'gu');
/** A longer run of spaces is counted: it could push the rest of a command out of sight. */
const LONG_BLANK = /(?<=\S) {17,}/g;

/** Text of which nothing is left out: what `h` would take out of it is written as an escape, long runs of spaces are counted. */
const writtenOut = (text) => text
  .replace(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0).toString(16)}}`)
  .replace(LONG_BLANK, (run) => `\\[${run.length} spaces]`);

/** A value as JSON of which nothing is left out; `indent` as `JSON.stringify` takes it. */
export const visibleJson = (value, indent = 0) => JSON.stringify(value, null, indent).split('\n').map(writtenOut).join('\n');

/** A word of a command as a shell would want it, of which nothing is left out. */
export function visibleWord(text) {
  if (/^[\w@%+=:,./\-${}*]+$/.test(text)) return text;
  const shown = writtenOut(text.replaceAll('\\', '\\\\').replaceAll("'", "\\'"));
  // As it is if escapes change nothing but quotes.
  return shown === text ? `'${text}'` : `$'${shown}'`;
}

/** A button. `kind` is `main`, `grave` or nothing. */
export const button = (label, onclick, kind = '') => h('button', { type: 'button', className: kind, onclick }, label);

/** In the place of what was not read yet. */
export const loading = () => h('p', { className: 'faint' }, 'Loading…');

/** Pairs of what and how, without those that are not there. */
export function facts(pairs) {
  const there = pairs.filter(([, value]) => isThere(value) && value !== '');
  return h('dl', {}, there.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

/** A text as it is, or a value as JSON. */
export const pre = (value) => h('pre', { tabindex: '0' }, typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/**
 * A window over the page, until it is closed.
 * @param {string} title
 * @param {(close: () => void) => Array<unknown>} body
 * @param {() => unknown} [closed] may take a moment: the window is not seen meanwhile, and its frames go on
 * @param {string} [kind] `drawer` for what has an address
 */
export function open(title, body, closed = () => {}, kind = '') {
  const id = `title-${++titles}`;
  const close = () => element.close();
  const element = /** @type {HTMLDialogElement} */ (h('dialog', { className: kind, 'aria-labelledby': id, onclose: () => { Promise.resolve(closed()).finally(() => element.remove()); } },
    h('header', { role: 'presentation' }, h('h1', { id }, title), button('Close', close), h('p', { className: 'banner', role: 'alert' }, prose(banner))),
    h('div', { className: 'body', inert: banner !== '' }, body(close))));
  document.body.append(element);
  element.showModal();
  return element;
}
let titles = 0;

/** What the banner of the page says. */
let banner = '';

/** Says `text` above the page and in every window. As long as it is there, windows can be read and closed, not used. */
export function setBanner(text) {
  if (text === banner) return;
  banner = text;
  for (const element of document.querySelectorAll('.banner')) element.replaceChildren(...prose(text));
  for (const element of document.querySelectorAll('dialog > .body')) element.toggleAttribute('inert', text !== '');
}

/** A window for what has an address: closing it leaves the address. */
export const drawer = (title, body, closed = undefined) => open(title, body, closed, 'drawer');

/** Puts a text on the clipboard, and says so. */
export const copy = (text, what) => attempt(() => navigator.clipboard.writeText(text), `${what} copied.`);

/**
 * A table with a name. On a phone each row becomes a block, with the titles before its cells.
 * @param {string} label
 * @param {string[]} columns titles; `#` before one right-aligns its cells, `-` hides one that the buttons below it repeat
 * @param {Array<Array<unknown> | { cells: Array<unknown> }>} rows cells, or an object of cells and attributes of the row
 */
export function table(label, columns, rows) {
  const titles = columns.map((title) => title.replace(/^[#-]/, ''));
  const kinds = columns.map((title) => (title.startsWith('#') ? 'number' : ''));
  const head = (title, index) => h('th', { scope: 'col', className: kinds[index] }, columns[index].startsWith('-') ? h('span', { className: 'hidden' }, title) : title);
  const row = (given) => {
    const { cells, ...attributes } = Array.isArray(given) ? { cells: given } : given;
    return h('tr', attributes, cells.map((cell, index) => h('td', { className: kinds[index], 'data-title': columns[index].startsWith('-') ? undefined : titles[index] }, cell)));
  };
  return h('div', { className: 'scroll', tabindex: '0', role: 'group', 'aria-label': label }, h('table', { className: 'stacks', 'aria-label': label },
    h('thead', {}, h('tr', {}, titles.map(head))), h('tbody', {}, rows.map(row))));
}

/** A message of the program: what stands in backquotes becomes code. */
export const prose = (text) => String(text).split(/`([^`]+)`/).map((each, index) => (index % 2 ? h('code', {}, each) : each));

/** Tells of something, for a while. */
export function notice(text, kind = '') {
  const element = h('div', { className: `card ${kind}` }, h('p', {}, prose(text)));
  document.getElementById('notices')?.append(element);
  setTimeout(() => element.remove(), 8000);
}

/** Does something and tells what went wrong. */
export async function attempt(work, done = '') {
  try {
    const result = await work();
    if (done) notice(done);
    return result;
  } catch (problem) {
    notice(wrong(problem), 'wrong');
    return undefined;
  }
}

/** Says in `place` what went wrong. */
export const tellProblem = (place, problem) => place.replaceChildren(h('span', {}, prose(wrong(problem))));

/** What went wrong, where, and what to do. */
export function wrong(problem) {
  const { title, detail, hint, message } = problem ?? {};
  return [title ?? message ?? String(problem), detail, hint && `Hint: ${hint}`].filter(Boolean).join('\n');
}

/** Waits until nothing has happened for a moment, and then does it once. */
export function calmly(work, millis = 120) {
  let timer = 0;
  return () => {
    if (timer) return;
    timer = window.setTimeout(() => { timer = 0; work(); }, millis);
  };
}
