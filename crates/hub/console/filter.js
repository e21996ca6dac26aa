/**
 * The head of a list: its title, a search field, choices, and how many there are. What is typed and chosen stands in the
 * address, so that a filtered list can be linked.
 */

import { calmly, h } from './dom.js';
import { refine, route } from './route.js';

/**
 * @param {string} title
 * @param {{ search: string, hint?: string, choices?: Record<string, { label: string, options: () => Array<[string, string]> }>, more?: unknown[], changed: () => void }} options
 */
export function filter(title, { search, hint = 'Search', choices = {}, more = [], changed }) {
  const count = h('span', { className: 'count', role: 'status' });
  const typed = h('input', { type: 'search', 'aria-label': search, placeholder: hint, oninput: calmly(refined, 30) });
  const selects = Object.entries(choices).map(([name, { label, options }]) => ({ name, options, element: h('select', { 'aria-label': label, onchange: refined }) }));

  const asked = () => ({ q: typed.value, ...Object.fromEntries(selects.map(({ name, element }) => [name, element.value])) });

  const { view } = route();
  /** Writes what is asked for into the address, unless the page is elsewhere by now. */
  const write = () => { if (route().view === view) refine(asked()); };

  function refined() {
    write();
    changed();
  }

  return {
    element: h('div', { className: 'bar' }, h('h1', {}, title), typed, selects.map(({ element }) => element), count, h('span', { className: 'gap' }), more),
    /** What is asked for. Choices may have changed with the data. */
    read() {
      const { query } = route();
      const isTyping = document.activeElement === typed;
      if (!isTyping) typed.value = query.get('q') ?? '';
      for (const { name, options, element } of selects) {
        const chosen = query.get(name) ?? '';
        const all = options();
        if (chosen && !all.some(([value]) => value === chosen)) all.push([chosen, chosen]);
        const key = JSON.stringify(all);
        if (element.getAttribute('data-options') !== key) {
          element.replaceChildren(...all.map(([value, label]) => h('option', { value }, label)));
          element.setAttribute('data-options', key);
        }
        element.value = chosen;
      }
      // New data may draw the list before what is typed is in the address.
      if (isTyping) write();
      return asked();
    },
    tell(shown, all) { count.textContent = `${shown} of ${all}`; },
  };
}

/** The different values of a member, as choices after one that means all. */
export const values = (all, items, member) => [['', all], ...[...new Set(items.map(member).filter(Boolean))].sort().map((value) => [value, value])];
