/** A list of any length of which only what can be seen is there. */

import { h } from './dom.js';

/** Rows beyond what can be seen, so that scrolling shows no gap. */
const MORE = 6;

/**
 * @template T
 * @param {string} label
 * @param {(item: T) => { key: string, open: () => void, parts: unknown[] }} row
 * @param {string} nothing what to say of an empty list
 */
export function list(label, row, nothing) {
  /** @type {T[]} */ let items = [];
  let height = 56;
  const inner = h('div', { role: 'list', 'aria-label': label });
  const outer = h('div', { className: 'list', onscroll: draw, onkeydown: walk }, inner);
  new ResizeObserver(draw).observe(outer);

  function draw() {
    if (!items.length) {
      inner.style.height = 'auto';
      inner.removeAttribute('role');
      inner.replaceChildren(h('p', { className: 'empty' }, nothing));
      return;
    }
    inner.setAttribute('role', 'list');
    height = matchMedia('(max-width: 44rem)').matches ? 64 : 56;
    inner.style.height = `${items.length * height}px`;
    const first = Math.max(0, Math.floor(outer.scrollTop / height) - MORE);
    const last = Math.min(items.length, Math.ceil((outer.scrollTop + outer.clientHeight) / height) + MORE);
    const focused = document.activeElement?.getAttribute('data-key');
    const rows = [];
    for (let index = first; index < last; index++) rows.push(drawn(index));
    inner.replaceChildren(...rows);
    const again = focused && rows.find((each) => each.firstChild.getAttribute('data-key') === focused);
    if (again) again.firstChild.focus({ preventScroll: true });
  }

  function drawn(index) {
    const { key, open, parts } = row(items[index]);
    const button = h('button', { type: 'button', className: 'row', 'data-key': key, 'data-index': index, onclick: open }, parts);
    const place = h('div', { role: 'listitem', className: 'place', 'aria-setsize': items.length, 'aria-posinset': index + 1 }, button);
    place.style.top = `${index * height}px`;
    return place;
  }

  /** Arrows go from row to row. */
  function walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    const from = Number(document.activeElement?.getAttribute('data-index') ?? NaN);
    if (step === undefined || Number.isNaN(from)) return;
    event.preventDefault();
    const to = Math.min(items.length - 1, Math.max(0, from + step));
    const [top, bottom] = [to * height, (to + 1) * height];
    if (top < outer.scrollTop) outer.scrollTop = top;
    if (bottom > outer.scrollTop + outer.clientHeight) outer.scrollTop = bottom - outer.clientHeight;
    draw();
    inner.querySelector(`[data-index="${to}"]`)?.focus({ preventScroll: true });
  }

  return {
    element: outer,
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
