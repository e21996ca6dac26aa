/** The page: comes in with its invitation, shows one view, keeps it current. */

import { view as activity } from './activity.js';
import { enter } from './api.js';
import { view as catalog } from './catalog.js';
import { calmly, h, wrong } from './dom.js';
import { notifySwitch } from './notify.js';
import { count, view as problems } from './problems.js';
import { view as queue } from './questions.js';
import { view as servers } from './servers.js';
import { choose, follow, known, start } from './store.js';

/** Each with what its badge counts, and the topics that change it. */
const VIEWS = {
  servers: { title: 'Servers', make: servers, topics: ['servers'] },
  tools: { title: 'Tools', make: catalog('tools'), topics: ['catalog'] },
  prompts: { title: 'Prompts', make: catalog('prompts'), topics: ['catalog'] },
  resources: { title: 'Resources', make: catalog('resources'), topics: ['catalog'] },
  queue: { title: 'Queue', make: queue, topics: ['questions'], badge: () => known.questions.size },
  activity: { title: 'Activity', make: activity, topics: ['calls'] },
  problems: { title: 'Problems', make: problems, topics: ['servers'], badge: count },
};

const LINKS = { open: 'live', opening: 'connecting…', lost: 'connection lost; trying again…', refused: 'not let in' };

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const select = /** @type {HTMLSelectElement} */ (document.getElementById('workspace'));
const badges = {};

document.getElementById('views')?.append(...Object.entries(VIEWS).map(([name, { title }]) => {
  badges[name] = h('span', { className: 'badge' });
  return h('a', { href: `#/${name}` }, title, ' ', badges[name]);
}));
select.addEventListener('change', () => choose(select.value));
document.getElementById('link')?.before(notifySwitch());

let shown = { name: '', update() {} };

/** Shows the view that the address names. */
function turn() {
  const name = location.hash.slice(2) in VIEWS ? location.hash.slice(2) : 'servers';
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#/${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const { element, update } = VIEWS[name].make();
  shown = { name, update };
  main.replaceChildren(...element);
  update();
  entitle();
}

function entitle() {
  for (const [name, { badge }] of Object.entries(VIEWS)) badges[name].textContent = badge?.() || '';
  const asked = known.questions.size;
  document.title = `${asked ? `(${asked}) ` : ''}${VIEWS[shown.name]?.title ?? ''} · Switchboard`;
}

let wasRefused = false;

function linked() {
  document.getElementById('link').textContent = LINKS[known.link];
  const folders = known.workspaces.map(({ root }) => root.split('/').pop() || root);
  select.replaceChildren(...known.workspaces.map(({ id, root, agent }, index) => {
    const only = folders.indexOf(folders[index]) === folders.lastIndexOf(folders[index]);
    const name = only ? folders[index] : root;
    return h('option', { value: id, title: root, selected: id === known.workspace }, agent ? `${name} (${agent})` : name);
  }));
  if (wasRefused && known.link === 'open') turn();
  wasRefused = known.link === 'refused';
  if (known.link === 'refused') refused({ title: 'This page is not let in.', hint: '`switchboard status` shows an address that lets one page in' });
  else if (known.link === 'open' && !known.workspaces.length) {
    main.replaceChildren(h('p', { className: 'empty' }, 'No project is open. Start a client there, or run `switchboard serve` in it.'));
  }
}

const refused = (problem) => main.replaceChildren(h('h1', {}, 'Switchboard'), h('p', { className: 'wrong', role: 'alert' }, wrong(problem)));

const refresh = calmly(() => { if (known.link !== 'refused') shown.update(); entitle(); }, 30);

follow((topic) => {
  if (topic === 'link') linked();
  else if (VIEWS[shown.name]?.topics.includes(topic) || topic === 'servers' || topic === 'questions') refresh();
});

/** What stands behind `#` at first may be an invitation, which nobody should find in the history. */
async function begin() {
  const word = location.hash.slice(1);
  if (word && !word.startsWith('/')) {
    history.replaceState(null, '', '/#/servers');
    await enter(word);
  }
  window.addEventListener('hashchange', () => { if (location.hash !== '#main') turn(); });
  turn();
  start();
}

begin().catch(refused);
