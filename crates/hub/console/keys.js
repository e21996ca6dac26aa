/** Keys: `/` searches, `?` shows all keys, `g` and a letter goes to a page. Not while something is typed. */

import { h, open } from './dom.js';
import { go, to } from './route.js';

/** How long `g` waits for its letter. */
const PREFIX_MILLIS = 1500;

/** @param {Record<string, { title: string, key: string }>} views */
export function listen(views) {
  let prefixed = 0;
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === '?') {
      event.preventDefault();
      showKeys(views);
      return;
    }
    const top = [...document.querySelectorAll('dialog[open]')].pop() ?? document.getElementById('main');
    if (event.key === '/') {
      const field = top?.querySelector('input[type=search]');
      if (!field) return;
      event.preventDefault();
      field.focus();
      return;
    }
    const isPrefixed = event.timeStamp - prefixed < PREFIX_MILLIS;
    prefixed = event.key === 'g' ? event.timeStamp : -PREFIX_MILLIS;
    if (!isPrefixed || document.querySelector('dialog[open]')) return;
    const found = Object.entries(views).find(([, { key }]) => key === event.key);
    if (!found) return;
    event.preventDefault();
    go(to(found[0]));
    document.getElementById('main')?.focus();
  });
}

const isTyping = (target) => target instanceof HTMLElement && (target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName)
  || (target.tagName === 'INPUT' && !['checkbox', 'radio'].includes(target.getAttribute('type') ?? 'text')));

export function showKeys(views) {
  if (document.querySelector('dialog.keys')) return;
  const line = (keys, what) => [h('dt', {}, keys.map((key) => [h('kbd', {}, key), ' '])), h('dd', {}, what)];
  const element = open('Keys', () => [h('dl', {},
    line(['/'], 'Search this page'), line(['?'], 'Show these keys'), line(['↑', '↓', 'Home', 'End'], 'Move in a list'),
    line(['Enter'], 'Open'), line(['Esc'], 'Close a window'),
    Object.values(views).map(({ title, key }) => line(['g', key], `Go to ${title}`)))]);
  element.classList.add('keys');
}
