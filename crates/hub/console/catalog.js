/** Tools, prompts and resources of all servers: searched as one types, opened to be used. */

import { openPrompt, openResource, openTool } from './calling.js';
import { h, loading } from './dom.js';
import { filter, values } from './filter.js';
import { cell, list, search } from './list.js';
import { to } from './route.js';
import { isRead, known } from './store.js';
import { count, micros } from './units.js';

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

/** What names an item in an address. */
const keyOf = ({ name, server, item = {} }) => name ?? `${server} ${item.uri ?? item.uriTemplate}`;
const byKey = (kind, key) => KINDS[kind].of().find((listed) => keyOf(listed) === key);

/** Opens the item that an address names; nothing where it is not there (yet). */
export const opener = (kind) => (key) => {
  const listed = byKey(kind, key);
  return listed && { element: KINDS[kind].open(listed), turn() {} };
};

const COLUMNS = {
  tools: [[1, 'Server'], [1, 'Tokens', true], [2, 'Calls, last hour', true], [3, 'p95', true]],
  prompts: [[1, 'Server'], [2, 'Arguments', true]],
  resources: [[1, 'Server'], [2, 'Type']],
};

/** @param {'tools' | 'prompts' | 'resources'} kind */
export const view = (kind) => () => {
  const { title, of } = KINDS[kind];
  const head = filter(title, { search: `Search ${title.toLowerCase()}`, changed: show, choices: {
    server: { label: 'Server', options: () => values('All servers', of(), ({ server }) => server) },
  } });
  const { elements, show: draw } = list(title, COLUMNS[kind], row, () => (isRead('catalog') ? h('p', {}, of().length ? `No ${title.toLowerCase()} match.` : `No server offers ${title.toLowerCase()}.`) : loading()), '');

  function show() {
    const { q, server } = head.read();
    const found = search(of(), q, words).filter((listed) => !server || listed.server === server);
    head.tell(found.length, of().length);
    draw(found);
  }

  function row(listed) {
    const { item = {}, name, server } = listed;
    const label = item.title ?? item.name ?? item.uri ?? item.uriTemplate ?? name;
    return {
      key: keyOf(listed),
      href: to(kind, keyOf(listed)),
      parts: [
        h('span', { className: 'what' }, h('strong', {}, label), h('small', {}, item.description ?? item.uri ?? item.uriTemplate ?? '')),
        cell(1, server), ...(CELLS[kind](listed)),
        h('span', { className: 'faint small' }, marks(listed)),
      ],
    };
  }

  return { element: [head.element, ...elements], update: show };
};

const CELLS = {
  tools({ name, cost = 0 }) {
    const traffic = known.traffic.tools.find((each) => each.name === name);
    return [cell(1, count(cost), true), cell(2, traffic ? count(traffic.calls) : '–', true), cell(3, micros(traffic?.latency?.p95Micros), true)];
  },
  prompts: ({ item = {} }) => [cell(2, count(item.arguments?.length ?? 0), true)],
  resources: ({ item = {} }) => [cell(2, item.mimeType ?? '')],
};

/** What an item says of itself, in a word. */
function marks({ item = {} }) {
  const { readOnlyHint, destructiveHint } = item.annotations ?? {};
  if (readOnlyHint) return 'only reads';
  if (destructiveHint) return 'may delete';
  return item.uriTemplate ? 'template' : '';
}
