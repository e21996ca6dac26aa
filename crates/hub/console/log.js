/** What a server writes to its standard error: the latest lines and new ones, searched and by level. */

import { ask, events } from './api.js';
import { calmly, h, tellProblem } from './dom.js';
import { at } from './store.js';
import { stamp } from './units.js';

/** Lines that are kept on the page, and read at first. */
const MAX_LINES = 5000;
const FIRST = 500;

/** The level that a line seems to have. Servers write as they like. */
const LEVELS = [['error', /\b(error|err|fatal|panic|critical|traceback|exception)\b/i], ['warning', /\b(warn|warning)\b/i], ['debug', /\b(debug|trace)\b/i]];
const levelOf = (line) => LEVELS.find(([, pattern]) => pattern.test(line))?.[0] ?? 'info';
const ORDER = ['debug', 'info', 'warning', 'error'];

/** The hub writes times in UTC. */
const toLocal = (line) => line.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z(?= )/, stamp);

export function log(name) {
  let lines = [];
  let following;
  const typed = h('input', { type: 'search', 'aria-label': 'Search the log', placeholder: 'Search', oninput: calmly(draw, 60) });
  const level = h('select', { 'aria-label': 'Level', onchange: draw }, ORDER.map((each, index) => h('option', { value: index }, index ? `${each} and above` : 'all levels')));
  const follows = h('input', { type: 'checkbox', checked: true, onchange: () => (follows.checked ? follow() : following?.abort()) });
  const count = h('span', { className: 'count', role: 'status' });
  const text = h('pre', { role: 'log', 'aria-live': 'off', tabindex: '0', 'aria-label': `Log of ${name}` });
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const soon = calmly(draw, 80);

  function draw() {
    const wanted = typed.value.toLowerCase();
    const shown = lines.filter((line) => ORDER.indexOf(levelOf(line)) >= Number(level.value) && line.toLowerCase().includes(wanted));
    const isAtEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 30;
    text.replaceChildren(...(shown.length ? shown.flatMap((line) => [...marked(line, wanted), '\n']) : [lines.length ? 'No line matches.' : 'It has written nothing.']));
    count.textContent = `${shown.length} of ${lines.length} lines`;
    if (isAtEnd && follows.checked) text.scrollTop = text.scrollHeight;
  }

  async function follow() {
    following?.abort();
    following = new AbortController();
    const { signal } = following;
    try {
      let isFirst = true;
      for await (const { data } of events('GET', at(name, `logs?lines=${FIRST}&follow=1`), { signal })) {
        lines = isFirst ? data.lines.map(toLocal) : [...lines, ...data.lines.map(toLocal)].slice(-MAX_LINES);
        isFirst = false;
        soon();
      }
    } catch (failed) {
      if (!signal.aborted) tellProblem(problem, failed);
    }
  }

  ask('GET', at(name, `logs?lines=${FIRST}`)).then((told) => { lines = told.lines.map(toLocal); draw(); text.scrollTop = text.scrollHeight; follow(); }, (failed) => { tellProblem(problem, failed); });
  return {
    element: h('section', { className: 'log' },
      h('div', { className: 'bar' }, typed, level, h('label', { className: 'check' }, follows, 'Follow'), count), problem, text),
    close: () => following?.abort(),
  };
}

/** A line with what was searched marked. */
function marked(line, wanted) {
  if (!wanted) return [h('span', {}, line)];
  const parts = [];
  let from = 0;
  for (let found = line.toLowerCase().indexOf(wanted); found >= 0; found = line.toLowerCase().indexOf(wanted, from)) {
    parts.push(line.slice(from, found), h('mark', {}, line.slice(found, found + wanted.length)));
    from = found + wanted.length;
  }
  return [h('span', {}, parts, line.slice(from))];
}
