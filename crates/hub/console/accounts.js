/** Accounts: who is signed in to which server, with what scopes and for how long; and the servers that want a sign-in. */

import { ask, isForPeople, part } from './api.js';
import { signIn } from './calling.js';
import { attempt, button, h, notice, open, table } from './dom.js';
import { filter } from './filter.js';
import { search } from './list.js';
import { to } from './route.js';
import { known, look, lookAtAccounts } from './store.js';
import { moment } from './units.js';

const words = ({ server, url, principal, issuer, scopes }) => [server, url, principal, issuer, ...scopes].join(' ').toLowerCase();

export function view() {
  const head = filter('Accounts', { search: 'Search accounts', changed: update });
  const cards = h('div', { className: 'cards' });
  attempt(lookAtAccounts);

  function update() {
    const { q } = head.read();
    const all = known.accounts ?? [];
    const found = search(all, q, words);
    head.tell(found.length, all.length);
    const focused = document.activeElement?.getAttribute('data-key');
    const nothing = !known.accounts ? 'Loading…' : all.length ? 'No account matches.' : 'No one is signed in to a server.';
    cards.replaceChildren(
      h('section', { className: 'card', 'aria-label': 'Signed in' }, h('h2', {}, 'Signed in'),
        found.length ? accountTable(found) : h('p', { className: 'faint' }, nothing)),
      isForPeople ? h('p', { className: 'faint' }, 'To sign in to a server, call one of its tools: your client shows you a link.') : wanting());
    if (focused) cards.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  return { element: [head.element, cards], update };
}

const isMine = ({ principal }) => principal === known.me.principal;
const who = (account) => (isMine(account) ? 'you' : account.principal);

function accountTable(accounts) {
  return table('Accounts', ['Server', 'Who', 'Signed in at', 'Scopes', 'Expires', '-Sign out'], accounts.map((account) => [
    [isForPeople ? h('strong', {}, account.server) : h('a', { href: to('servers', account.server) }, h('strong', {}, account.server)), h('br', {}), h('small', {}, account.url)],
    who(account),
    account.issuer,
    account.scopes.length ? account.scopes.join(' ') : h('span', { className: 'faint' }, 'none named'),
    expiry(account),
    // Only the person who runs the hub signs others out.
    (isMine(account) || !isForPeople) && h('button', { type: 'button', 'data-key': account.id, 'aria-label': `Sign ${who(account)} out of ${account.server}`, onclick: () => confirmSignOut(account) }, 'Sign out'),
  ]));
}

function expiry({ expiresAt, renewable }) {
  if (!expiresAt) return h('span', { className: 'faint' }, 'not known');
  if (renewable) return 'renewed by itself';
  return [moment(expiresAt * 1000), expiresAt * 1000 <= Date.now() && h('span', { className: 'state warn' }, 'expired')];
}

function confirmSignOut(account) {
  const { id, server, issuer } = account;
  open(`Sign ${who(account)} out of ${server}?`, (close) => [
    h('p', {}, `The tokens are given back to ${issuer} and deleted here. Calls of ${server} then need a new sign-in.`),
    h('div', { className: 'actions' }, button('Sign out', async () => {
      close();
      const ended = await attempt(() => ask('DELETE', `accounts/${part(id)}`), `Signed out of ${server}.`);
      if (ended?.problem) notice(ended.problem, 'wrong');
      await attempt(lookAtAccounts);
      await attempt(look);
    }, 'grave'), button('Cancel', close)),
  ]);
}

/** The servers of this project that wait for a sign-in of the person who runs the hub. */
function wanting() {
  const servers = known.servers.filter(({ state }) => state === 'needs-auth');
  const row = ({ name, target }) => [
    h('a', { href: to('servers', name) }, h('strong', {}, name)), target ?? '',
    h('button', { type: 'button', 'data-key': `sign in ${name}`, 'aria-label': `Sign in to ${name}`, className: 'main', onclick: () => attempt(() => signIn(name)) }, 'Sign in'),
  ];
  return h('section', { className: 'card', 'aria-label': 'Sign-in needed' }, h('h2', {}, 'Sign-in needed'),
    servers.length ? table('Servers that need a sign-in', ['Server', 'URL', '-Sign in'], servers.map(row)) : h('p', { className: 'faint' }, 'No server of this project needs one.'));
}
