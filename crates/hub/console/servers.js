/** Every server with how it is, live; each opens to everything there is to know and do. */

import { ask } from './api.js';
import { attempt, button, calmly, h, open, wrong } from './dom.js';
import { list, search } from './list.js';
import { openServer, state } from './server.js';
import { here, known, look } from './store.js';

const words = ({ name, scope, transport, state: word, serverName }) =>
  [name, scope, transport, word, serverName].filter(Boolean).join(' ').toLowerCase();

export function view() {
  const count = h('span', { className: 'count', role: 'status' });
  const typed = h('input', { type: 'search', 'aria-label': 'Search servers', placeholder: 'Search', oninput: calmly(update, 30) });
  const { element, show } = list('Servers', row, 'No server is configured yet: add one.');

  function update() {
    const found = search(known.servers, typed.value, words);
    count.textContent = `${found.length} of ${known.servers.length}`;
    show(found);
  }

  const bar = h('div', { className: 'bar' }, h('h1', {}, 'Servers'), typed, count, button('Add a server', openAdding, 'main'));
  return { element: [bar, element], update };
}

function row(server) {
  const { name, scope, transport, protocol, toolCount, cost, stats = {} } = server;
  const latency = stats.latency;
  const numbers = [
    protocol, toolCount ? `${toolCount} tools, ${cost} tokens` : undefined,
    stats.callsInFlight ? `${stats.callsInFlight} in flight` : undefined,
    latency && `${latency.p50Millis} / ${latency.p99Millis} ms`,
    stats.restarts ? `${stats.restarts} restarts` : undefined,
  ];
  return {
    key: `${scope} ${name}`,
    open: () => openServer(name),
    parts: [
      h('span', { className: 'what' }, h('strong', {}, name), h('small', {}, [scope, transport, why(server)].filter(Boolean).join(' · '))),
      h('span', { className: 'facts' }, numbers.filter(Boolean).map((each) => h('span', {}, each))),
      state(server),
    ],
  };
}

const why = ({ why: reason, error }) => reason ?? error?.causes?.join(': ');

/** A window to add a server in: words for a form, or whatever was copied from somewhere. */
function openAdding() {
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const name = h('input', { id: 'new-name', autocomplete: 'off' });
  const scope = h('select', { id: 'new-scope' },
    h('option', { value: 'local' }, 'This project, for me alone'),
    h('option', { value: 'project' }, 'This project, for everybody in it'),
    h('option', { value: 'user' }, 'Everywhere, for me'));
  const what = h('textarea', { id: 'new-what', required: true, spellcheck: 'false', placeholder: 'https://example.com/mcp\n\nnpx -y @scope/server\n\n{"mcpServers": {"name": {"command": "…"}}}' });
  open('Add a server', (close) => [h('form', { onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = '';
    try {
      const { added } = await ask('POST', here('servers'), { name: name.value.trim() || undefined, scope: scope.value, ...meant(what.value.trim()) });
      close();
      await attempt(look, `Added ${added.map((each) => each.name).join(', ')}.`);
    } catch (refused) {
      problem.textContent = wrong(refused);
    }
  } },
  h('div', { className: 'field' }, h('label', { for: 'new-what' }, 'An address, a command, or JSON as documentation shows it'), what),
  h('div', { className: 'field' }, h('label', { for: 'new-name' }, 'Name (JSON may bring its own)'), name),
  h('div', { className: 'field' }, h('label', { for: 'new-scope' }, 'Where it counts'), scope),
  problem, h('div', { className: 'actions' }, h('button', { type: 'submit', className: 'main' }, 'Add')))]);
}

/** What was typed: JSON, an address, or a command and its arguments. */
function meant(text) {
  if (text.startsWith('{')) return { snippet: text };
  if (/^\w+:\/\//.test(text)) return { url: text };
  const [command, ...args] = (text.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/, '$2'));
  return { entry: { command, args } };
}
