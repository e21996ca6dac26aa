/** Tools, prompts and resources of all servers: searched as one types, opened to be used. */

import { openPrompt, openResource, openTool } from './calling.js';
import { calmly, h } from './dom.js';
import { list, search } from './list.js';
import { known } from './store.js';

const KINDS = {
  tools: { title: 'Tools', of: () => known.catalog.tools, open: openTool },
  prompts: { title: 'Prompts', of: () => known.catalog.prompts, open: openPrompt },
  resources: { title: 'Resources', of: () => [...known.catalog.resources, ...known.catalog.templates], open: openResource },
};

/** What is searched; made once for each item. */
const texts = new WeakMap();
function words(listed) {
  if (!texts.has(listed)) {
    const { item = {}, name, server } = listed;
    texts.set(listed, [name, server, item.name, item.title, item.description, item.uri, item.uriTemplate].filter(Boolean).join(' ').toLowerCase());
  }
  return texts.get(listed);
}

/** @param {'tools' | 'prompts' | 'resources'} kind */
export const view = (kind) => () => {
  const { title, of, open } = KINDS[kind];
  const count = h('span', { className: 'count', role: 'status' });
  const typed = h('input', { type: 'search', 'aria-label': `Search ${title.toLowerCase()}`, placeholder: 'Search', oninput: calmly(show, 30) });
  const { element, show: draw } = list(title, row, `No ${title.toLowerCase()}.`);

  function show() {
    const found = search(of(), typed.value, words);
    count.textContent = `${found.length} of ${of().length}`;
    draw(found);
  }

  function row(listed) {
    const { item = {}, name, server, cost } = listed;
    const label = item.title ?? item.name ?? item.uri ?? item.uriTemplate ?? name;
    return {
      key: `${server} ${name ?? item.uri ?? item.uriTemplate}`,
      open: () => open(listed),
      parts: [
        h('span', { className: 'what' }, h('strong', {}, label), h('small', {}, item.description ?? item.uri ?? item.uriTemplate ?? '')),
        h('span', { className: 'facts' }, h('span', {}, server), cost !== undefined && h('span', {}, `${cost} tokens`)),
      ],
    };
  }

  return { element: [h('div', { className: 'bar' }, h('h1', {}, title), typed, count), element], update: show };
};
