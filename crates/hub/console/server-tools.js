/** The tools of one server, each with a switch: a tool that is off is denied by a rule of this project. */

import { ask } from './api.js';
import { attempt, h, loading } from './dom.js';
import { to } from './route.js';
import { follow, here, isRead, known, lookAtRules } from './store.js';
import { count } from './units.js';

export function tools(name) {
  const element = h('section', {});
  const unfollow = follow((topic) => { if (topic === 'catalog' || topic === 'rules') update(); });
  lookAtRules().catch(() => {});

  function update() {
    if (!isRead('catalog', 'rules')) return element.replaceChildren(loading());
    const offered = new Map(known.catalog.tools.filter(({ server }) => server === name).map((tool) => [ruleFor(tool), tool]));
    const off = switchedOff(name);
    const rules = [...new Set([...offered.keys(), ...off.keys()])].sort();
    const focused = document.activeElement?.getAttribute('data-tool');
    element.replaceChildren(
      h('p', { className: 'faint' }, 'A tool that is off is denied by a rule of this project. Clients do not see it.'),
      rules.length ? h('ul', { className: 'plainlist' }, rules.map((rule) => line(rule, offered.get(rule), off.get(rule))))
        : h('p', {}, 'It offers no tools.'));
    if (focused) element.querySelector(`[data-tool="${CSS.escape(focused)}"]`)?.focus();
    return undefined;
  }

  return { element, update, close: unfollow };
}

const normal = (name) => name.replace(/[^A-Za-z0-9_-]/g, '_');

/** The rule for one tool: its full name, which is not cut as the names for clients are. */
const ruleFor = ({ server, item, name }) => (item?.name ? `mcp__${normal(server)}__${normal(item.name)}` : name);

/** The rules without conditions that deny single tools of a server, by the tool's full name. */
const switchedOff = (server) => new Map(known.rules.rules
  .filter(({ list, rule }) => list === 'deny' && typeof rule === 'string' && rule.startsWith(`mcp__${normal(server)}__`) && !rule.includes('*'))
  .map((denied) => [denied.rule, denied]));

function line(rule, listed, denied) {
  const change = () => attempt(async () => {
    await ask(denied ? 'DELETE' : 'POST', here('rules'), { list: 'deny', rule, scope: denied?.scope ?? 'local' });
    await lookAtRules();
  }, `${rule} is ${denied ? 'on' : 'off'}.`);
  const input = h('input', { type: 'checkbox', role: 'switch', checked: !denied, 'data-tool': rule, 'aria-label': `${rule}: on`, disabled: denied && !denied.writable, onchange: change });
  return h('li', {},
    h('label', { className: 'switch' }, input, listed ? h('a', { href: to('tools', listed.name) }, listed.item?.title ?? listed.name) : h('span', {}, rule)),
    h('span', { className: 'faint small' }, denied ? `off: ${denied.at.origin}:${denied.at.line}` : count(listed?.cost ?? 0, 'token')));
}
