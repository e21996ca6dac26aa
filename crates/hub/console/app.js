/** The page: comes in with its invitation, shows what the address names, keeps it current. */

import { view as accounts } from './accounts.js';
import { ask, enter, isForPeople, leave as signOut } from './api.js';
import { find as findCall, openCall } from './call.js';
import { view as calls } from './calls.js';
import { opener, view as catalog } from './catalog.js';
import { view as clients } from './clients.js';
import { attempt, button, calmly, h, setBanner, tellProblem } from './dom.js';
import { listen, showKeys } from './keys.js';
import { notifySwitch } from './notify.js';
import { view as overview } from './overview.js';
import { view as permissions } from './permissions.js';
import { count, view as problems } from './problems.js';
import { view as questions } from './questions.js';
import { followed, leave, route, to } from './route.js';
import { view as served } from './served.js';
import { openServer } from './server.js';
import { view as servers } from './servers.js';
import { choose, follow, known, start } from './store.js';

/** Each with its key after `g`, what its badge counts, the topics that change it, and what opens one of its items. */
const ALL_VIEWS = {
  overview: { title: 'Overview', key: 'o', make: overview, topics: ['servers', 'calls', 'questions', 'traffic'] },
  clients: { title: 'Clients', key: 'c', group: 'Connections', make: clients, topics: ['servers', 'clients', 'traffic'] },
  servers: { title: 'Servers', key: 's', make: servers, topics: ['servers', 'traffic'], open: (name, part) => known.servers.some((each) => each.name === name) && openServer(name, part) },
  accounts: { title: 'Accounts', key: 'a', make: accounts, topics: ['servers', 'accounts'] },
  tools: { title: 'Tools', key: 't', group: 'Offered by servers', make: catalog('tools'), topics: ['catalog', 'traffic'], open: opener('tools') },
  prompts: { title: 'Prompts', key: 'p', make: catalog('prompts'), topics: ['catalog'], open: opener('prompts') },
  resources: { title: 'Resources', key: 'r', make: catalog('resources'), topics: ['catalog'], open: opener('resources') },
  calls: { title: 'Calls', key: 'l', group: 'Activity', make: calls, topics: ['calls'], open: (key) => findCall(key) && openCall(key) },
  permissions: { title: 'Permissions', key: 'm', make: permissions, topics: ['questions', 'rules'] },
  questions: { title: 'Questions', key: 'q', make: questions, topics: ['questions'], badge: () => known.questions.size },
  problems: { title: 'Problems', key: 'x', make: problems, topics: ['servers'], badge: count },
};

/** The views of the page for people. */
const PEOPLE_VIEWS = {
  clients: { ...ALL_VIEWS.clients, group: undefined },
  calls: { ...ALL_VIEWS.calls, group: undefined },
  questions: ALL_VIEWS.questions,
  accounts: ALL_VIEWS.accounts,
};
/** Those of an administrator. */
const ADMIN_VIEWS = { ...PEOPLE_VIEWS, servers: { title: 'Servers', key: 's', make: served, topics: ['servers', 'traffic'] } };
let VIEWS = ALL_VIEWS;
const first = () => Object.keys(VIEWS)[0];

const LINKS = { open: 'live', opening: 'connecting…', lost: 'connection lost', ended: 'hub ended', refused: 'not signed in' };
const BANNERS = {
  lost: 'The connection to the hub is lost. This page tries again by itself; until then it shows the past.',
  ended: 'The hub has ended. Run `switchboard console` to start it; this page then goes on by itself.',
};

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const select = /** @type {HTMLSelectElement} */ (document.getElementById('workspace'));
const menu = /** @type {HTMLElement} */ (document.getElementById('menu'));
const badges = {};

/** Shows the views that there are for the person at the page. */
function arrange() {
  document.getElementById('views')?.append(...Object.entries(VIEWS).flatMap(([name, { title, group }]) => {
    badges[name] = h('span', { className: 'badge' });
    return [group && h('h2', {}, group), h('a', { href: to(name) }, title, ' ', badges[name])].filter(Boolean);
  }));
  const tools = isForPeople ? [h('p', { className: 'faint' }, known.me.principal), button('Sign out', () => attempt(signOut))] : [];
  document.getElementById('tools')?.append(...tools, notifySwitch(), button('Keys', () => showKeys(VIEWS)));
  if (isForPeople) select.parentElement?.remove();
  listen(VIEWS);
}

select.addEventListener('change', () => choose(select.value));
menu.addEventListener('click', () => unfold(!document.body.classList.contains('menu-open')));
document.addEventListener('click', ({ target }) => {
  const address = target instanceof Element && target.closest('a[href^="#/"]')?.getAttribute('href');
  if (address) followed(address);
  // A link to the page that is shown changes nothing but the menu.
  if (address === location.hash) unfold(false);
});
/** Shows or hides the navigation where there is no room for both. */
function unfold(isOpen) {
  document.body.classList.toggle('menu-open', isOpen);
  menu.setAttribute('aria-expanded', String(isOpen));
}

let shown = { name: '', update() {} };
/** The address whose window was closed, until the page has left it. */
let leaving = '';
/** The window of the item that the address names. */
let item = { key: '', element: undefined, turn(_part) {} };

/** Shows what the address names. */
function turn() {
  if (known.link === 'refused') return;
  const { view } = route();
  const name = view in VIEWS ? view : first();
  unfold(false);
  if (name !== shown.name || !shown.element?.[0].isConnected) {
    for (const link of document.querySelectorAll('nav a')) {
      if (link.getAttribute('href') === to(name)) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    shown = { name, ...VIEWS[name].make() };
    main.replaceChildren(...shown.element);
    main.scrollTop = 0;
  }
  shown.update();
  openItem();
  entitle();
}

/** Opens the window of the item that the address names, closes one that it does not name any more. */
function openItem() {
  if (leaving === location.hash) return;
  leaving = '';
  const { view, item: wanted, part } = route();
  const key = wanted === undefined ? '' : `${view} ${wanted}`;
  if (key === item.key) {
    if (key) item.turn(part);
    return;
  }
  const before = item.element;
  item = { key: '', element: undefined, turn() {} };
  before?.close();
  const opened = key && VIEWS[view]?.open?.(wanted, part);
  if (!opened) return;
  item = { key, turn() {}, ...opened };
  item.element.addEventListener('close', () => {
    if (item.element === opened.element) {
      item = { key: '', element: undefined, turn() {} };
      leaving = location.hash;
      leave(view);
    }
  });
}

function entitle() {
  for (const [name, { badge }] of Object.entries(VIEWS)) badges[name].textContent = badge?.() || '';
  const asked = known.questions.size;
  const { item: of } = route();
  document.title = `${asked ? `(${asked}) ` : ''}${[item.key && of, VIEWS[shown.name]?.title].filter(Boolean).join(' · ')} · Switchboard`;
}

let wasRefused = false;

function linked() {
  const place = document.getElementById('link');
  place.textContent = LINKS[known.link];
  place.className = known.link;
  const isStale = known.link in BANNERS;
  document.body.classList.toggle('is-stale', isStale);
  setBanner(BANNERS[known.link] ?? '');
  const folders = known.workspaces.map(({ root }) => root.split('/').pop() || root);
  select.replaceChildren(...known.workspaces.map(({ id, root, agent }, index) => {
    const only = folders.indexOf(folders[index]) === folders.lastIndexOf(folders[index]);
    const name = only ? folders[index] : root;
    return h('option', { value: id, title: root, selected: id === known.workspace }, agent ? `${name} (${agent})` : name);
  }));
  if (wasRefused && known.link === 'open') { shown.name = ''; turn(); }
  wasRefused = known.link === 'refused';
  if (known.link === 'refused') refused({ title: 'This browser is not signed in.', hint: isForPeople ? 'Load this page again to sign in.' : 'Run `switchboard console`: it opens a new link.' });
  else if (known.link === 'open' && !known.workspaces.length && !isForPeople) {
    main.replaceChildren(h('div', { className: 'empty' }, h('h2', {}, 'No project is open'), h('p', {}, 'Start a client in one, or run ', h('code', {}, 'switchboard serve'), ' there.')));
  }
}

function refused(problem) {
  const place = h('p', { className: 'wrong', role: 'alert' });
  tellProblem(place, problem);
  main.replaceChildren(h('h1', {}, 'Switchboard'), place);
}

const refresh = calmly(() => {
  if (known.link === 'refused') return;
  shown.update();
  // The item may have come with what was read just now.
  if (!item.key) openItem();
  entitle();
}, 30);

follow((topic) => {
  if (topic === 'link') linked();
  else if (VIEWS[shown.name]?.topics.includes(topic) || ['servers', 'catalog', 'calls', 'questions'].includes(topic)) refresh();
});

/** What stands behind `#` may be an invitation, also in a tab that is open already. It does not stay in the history. */
async function invited() {
  const word = location.hash.slice(1);
  if (!word || word.startsWith('/') || word === 'main' || isForPeople) return false;
  history.replaceState(null, '', to(first()));
  await enter(word);
  return true;
}

async function begin() {
  window.addEventListener('hashchange', () => {
    if (location.hash === '#main') return;
    leaving = '';
    invited().then((isNew) => { if (isNew && known.link === 'refused') location.reload(); else turn(); }, refused);
  });
  await invited();
  if (isForPeople) {
    known.me = await ask('GET', 'me');
    VIEWS = known.me.role === 'admin' ? ADMIN_VIEWS : PEOPLE_VIEWS;
  }
  arrange();
  if (!location.hash) history.replaceState(null, '', to(first()));
  turn();
  start();
}

begin().catch(refused);
