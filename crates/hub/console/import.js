/** A window with the servers that other clients have and Switchboard does not: each is copied if it is ticked. */

import { ask } from './api.js';
import { attempt, button, h, open, visibleJson } from './dom.js';
import { here, look } from './store.js';
import { count } from './units.js';

export async function openImport() {
  const told = await attempt(() => ask('GET', here('import')));
  if (!told) return;
  const { add, skipped, problems } = told;
  const boxes = add.map(({ name }) => h('input', { type: 'checkbox', checked: true, 'aria-label': name }));
  open('Import servers', (close) => {
    const go = async () => {
      const names = add.filter((_, index) => boxes[index].checked).map(({ name }) => name);
      if (!names.length) return close();
      const done = await attempt(() => ask('POST', here('import'), { names }));
      if (!done) return undefined;
      close();
      return attempt(look, `Imported ${count(done.added.length, 'server')}.`);
    };
    return [
      h('p', {}, add.length ? 'These servers are in the files of your clients. Importing copies them; those files stay as they are.' : 'Your clients have no servers that are not here already.'),
      add.length > 0 && h('ul', { className: 'plainlist' }, add.map(({ name, client, file, scope, entry }, index) => h('li', { className: 'card' },
        h('label', { className: 'check' }, boxes[index], h('strong', {}, name), h('span', { className: 'faint' }, `from ${client}, to ${scope}`)),
        h('small', {}, file),
        h('pre', { tabindex: '0' }, visibleJson(entry, 2))))),
      skipped.length > 0 && h('details', {}, h('summary', {}, `${count(skipped.length, 'server')} left out`),
        h('ul', {}, skipped.map(({ name, client, reason }) => h('li', {}, `${name} (${client}): ${reason}`)))),
      problems.length > 0 && h('p', { className: 'wrong' }, problems.join('\n')),
      h('div', { className: 'actions' }, add.length > 0 && button('Import', go, 'main'), button('Cancel', close)),
    ];
  });
}
