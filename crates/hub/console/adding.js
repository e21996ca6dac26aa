/** A window to add a server in: words for a form, or whatever was copied from somewhere. */

import { ask } from './api.js';
import { attempt, h, open, tellProblem } from './dom.js';
import { here, look } from './store.js';

export function openAdding() {
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const name = h('input', { id: 'new-name', autocomplete: 'off' });
  const scope = h('select', { id: 'new-scope' },
    h('option', { value: 'local' }, 'This project, only for me'),
    h('option', { value: 'project' }, 'This project, for everyone in it'),
    h('option', { value: 'user' }, 'All my projects'));
  const what = h('textarea', { id: 'new-what', required: true, spellcheck: 'false', placeholder: 'https://example.com/mcp\n\nnpx -y @scope/server\n\n{"mcpServers": {"name": {"command": "…"}}}' });
  open('Add a server', (close) => [h('form', { onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = '';
    try {
      const { added } = await ask('POST', here('servers'), { name: name.value.trim() || undefined, scope: scope.value, ...meant(what.value.trim()) });
      close();
      await attempt(look, `Added ${added.map((each) => each.name).join(', ')}.`);
    } catch (refused) {
      tellProblem(problem, refused);
    }
  } },
  h('div', { className: 'field' }, h('label', { for: 'new-what' }, 'An address, a command, or JSON from the documentation of the server'), what),
  h('div', { className: 'field' }, h('label', { for: 'new-name' }, 'Name (not needed with JSON that names the server)'), name),
  h('div', { className: 'field' }, h('label', { for: 'new-scope' }, 'Applies to'), scope),
  problem, h('div', { className: 'actions' }, h('button', { type: 'submit', className: 'main' }, 'Add')))]);
}

/** What was typed: JSON, an address, or a command and its arguments. */
function meant(text) {
  if (text.startsWith('{')) return { snippet: text };
  if (/^\w+:\/\//.test(text)) return { url: text };
  const [command, ...args] = (text.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/, '$2'));
  return { entry: { command, args } };
}
