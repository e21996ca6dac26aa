/** Everything that is wrong, each with what can be done about it. */

import { openApproval } from './approval.js';
import { button, h, loading, prose } from './dom.js';
import { to } from './route.js';
import { actions } from './server.js';
import { stateWord } from './server-state.js';
import { isRead, known } from './store.js';

const WRONG = ['failed', 'needs-auth', 'invalid', 'blocked', 'awaiting-approval'];

/** What stands in the view, and how much of it there is. */
export const troubled = () => known.servers.filter(({ state }) => WRONG.includes(state));
export const approvals = () => known.approvals.filter(({ kind }) => kind !== 'server');
export const count = () => troubled().length + approvals().length + known.problems.length;

export function view() {
  const cards = h('div', { className: 'card-grid' });
  return {
    element: [h('div', { className: 'bar' }, h('h1', {}, 'Problems')), cards],
    update() {
      const all = [...troubled().map(server), ...approvals().map(waiting), ...known.problems.map(problem)];
      const nothing = () => (isRead('servers') ? h('p', { className: 'empty' }, 'No problems.') : loading());
      cards.replaceChildren(...(all.length ? all : [nothing()]));
    },
  };
}

function server(each) {
  const { name, why, error, at } = each;
  const hint = error?.hint ?? each.hint;
  return h('article', { className: 'card problem' },
    h('h2', {}, `${name}: ${stateWord(each)}`),
    h('p', { className: 'wrong' }, prose(why ?? error?.causes?.join('\n') ?? '')),
    hint && h('p', {}, prose(hint)),
    at && h('small', {}, `${at.origin}:${at.line}`),
    h('div', { className: 'actions' }, actions(each), h('a', { href: to('servers', name) }, 'Open')));
}

const waiting = ({ kind, name }) => h('article', { className: 'card waits' },
  h('h2', {}, `The ${kind} ${name} needs your approval`),
  h('div', { className: 'actions' }, button('Review and approve', () => openApproval(name), 'main')));

const problem = ({ kind, server: of, item, message }) => h('article', { className: 'card sentences' },
  h('h2', {}, [of, item].filter(Boolean).join(' · ') || kind),
  h('p', {}, prose(message)),
  of && known.servers.some(({ name }) => name === of) && h('div', { className: 'actions' }, h('a', { href: to('servers', of) }, 'Open')));
