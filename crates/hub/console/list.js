/** A list of any length of which only what can be seen is there. Rows are links, in columns where there is room. */

import { h } from './dom.js';

/** Rows beyond what can be seen, so that scrolling shows no gap. */
const MORE = 6;
const HEIGHT = 60;

/** A cell of a row, in the column of the same place. `level` says from which width on it is shown: 1, 2 or 3. */
export const cell = (level, text, isNumber = false) => h('span', { className: `cell c${level}${level < 2 ? ' c2' : ''}${level < 3 ? ' c3' : ''}${isNumber ? ' number' : ''}` }, text);

/**
 * @template T
 * @param {string} label
 * @param {Array<[level: number, title: string, isNumber?: boolean]>} columns those between the first and the state
 * @param {(item: T) => { key: string, href: string, parts: unknown[] }} row
 * @param {() => unknown} nothing what to show in place of an empty list
 */
export function list(label, columns, row, nothing, last = 'State') {
  /** @type {T[]} */ let items = [];
  const inner = h('div', { role: 'list', 'aria-label': label });
  const outer = h('div', { className: 'list', onscroll: draw, onkeydown: walk }, inner);
  const heads = h('div', { className: 'columns', 'aria-hidden': 'true' }, h('span', {}, 'Name'), columns.map(([level, title, isNumber]) => cell(level, title, isNumber)), h('span', {}, last));
  for (const element of [outer, heads]) {
    for (const level of [1, 2, 3]) element.style.setProperty(`--c${level}`, String(columns.filter(([from]) => from <= level).length));
  }
  new ResizeObserver(draw).observe(outer);

  function draw() {
    heads.hidden = !items.length;
    if (!items.length) {
      inner.style.height = 'auto';
      inner.removeAttribute('role');
      inner.replaceChildren(h('div', { className: 'empty' }, nothing()));
      return;
    }
    inner.setAttribute('role', 'list');
    inner.style.height = `${items.length * HEIGHT}px`;
    const first = Math.max(0, Math.floor(outer.scrollTop / HEIGHT) - MORE);
    const last = Math.min(items.length, Math.ceil((outer.scrollTop + outer.clientHeight) / HEIGHT) + MORE);
    const focused = document.activeElement?.getAttribute('data-key');
    const rows = [];
    for (let index = first; index < last; index++) rows.push(drawn(index));
    inner.replaceChildren(...rows);
    const again = focused && rows.find((each) => each.firstChild.getAttribute('data-key') === focused);
    if (again) again.firstChild.focus({ preventScroll: true });
  }

  function drawn(index) {
    const { key, href, parts } = row(items[index]);
    const link = h('a', { className: 'row', 'data-key': key, 'data-index': index, href }, parts);
    const place = h('div', { role: 'listitem', className: 'place', 'aria-setsize': items.length, 'aria-posinset': index + 1 }, link);
    place.style.top = `${index * HEIGHT}px`;
    return place;
  }

  /** Arrows go from row to row. */
  function walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    const from = Number(document.activeElement?.getAttribute('data-index') ?? NaN);
    if (step === undefined || Number.isNaN(from)) return;
    event.preventDefault();
    const to = Math.min(items.length - 1, Math.max(0, from + step));
    const [top, bottom] = [to * HEIGHT, (to + 1) * HEIGHT];
    if (top < outer.scrollTop) outer.scrollTop = top;
    if (bottom > outer.scrollTop + outer.clientHeight) outer.scrollTop = bottom - outer.clientHeight;
    draw();
    inner.querySelector(`[data-index="${to}"]`)?.focus({ preventScroll: true });
  }

  return {
    elements: [heads, outer],
    /** @param {T[]} now */
    show(now) {
      items = now;
      draw();
    },
  };
}

/** The items in whose words all that was typed is found. */
export function search(items, typed, words) {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return items;
  return items.filter((item) => {
    const text = words(item);
    return wanted.every((word) => text.includes(word));
  });
}
