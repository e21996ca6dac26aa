/** The entry of a server, to be changed: what will be different is shown before it is written. What is hidden stays what it is. */

import { ask, part } from './api.js';
import { attempt, button, calmly, h, pre, visibleJson, tellProblem } from './dom.js';
import { at, look } from './store.js';

export function entry(name) {
  const element = h('section', {});
  read(name, element);
  return { element };
}

async function read(name, element) {
  const told = await attempt(() => ask('GET', at(name)));
  if (!told) return;
  const file = told.at && h('p', { className: 'faint' }, `${told.at.origin}:${told.at.line}`);
  if (!told.writable) {
    element.replaceChildren(...[file, h('p', {}, `The scope ${told.scope} cannot be changed here.`), pre(told.entry)].filter(Boolean));
    return;
  }
  const before = visibleJson(told.entry, 2);
  const text = h('textarea', { 'aria-label': 'Entry', spellcheck: 'false', rows: 12, value: JSON.stringify(told.entry, null, 2) });
  const changes = h('pre', { className: 'diff', role: 'group', tabindex: '0', 'aria-label': 'What will change' });
  const heading = h('h2', {}, 'What will change');
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const save = button('Save', async () => {
    try {
      problem.textContent = '';
      await ask('PUT', at(name, `?scope=${part(told.scope)}`).replace('/?', '?'), { entry: JSON.parse(text.value) });
      await attempt(look, `${name} is changed.`);
      read(name, element);
    } catch (refused) {
      tellProblem(problem, refused);
    }
  }, 'main');
  function compare() {
    let after;
    try {
      after = visibleJson(JSON.parse(text.value), 2);
      problem.textContent = '';
    } catch (failed) {
      problem.textContent = `This is not JSON yet: ${failed.message}`;
    }
    const isSame = after === undefined || after === before;
    save.disabled = isSame;
    changes.hidden = isSame;
    heading.hidden = isSame;
    if (!isSame) changes.replaceChildren(...difference(before.split('\n'), after.split('\n')));
  }
  text.addEventListener('input', calmly(compare, 60));
  element.replaceChildren(...[file, text, problem, heading, changes, h('div', { className: 'actions' }, save)].filter(Boolean));
  compare();
}

/** The lines that go, come and stay, by the longest common run of lines. */
function difference(before, after) {
  const table = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let one = before.length - 1; one >= 0; one--) {
    for (let other = after.length - 1; other >= 0; other--) {
      table[one][other] = before[one] === after[other] ? table[one + 1][other + 1] + 1 : Math.max(table[one + 1][other], table[one][other + 1]);
    }
  }
  const lines = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    if (before[one] === after[other] && one < before.length) { lines.push(h('span', {}, before[one])); one++; other++; }
    else if (other < after.length && (one >= before.length || table[one][other + 1] > table[one + 1][other])) lines.push(h('ins', {}, after[other++]));
    else lines.push(h('del', {}, before[one++]));
  }
  return lines;
}
