/** The skills of one server: what they are for, and the digest of each `SKILL.md`. */

import { ask, part } from './api.js';
import { attempt, h } from './dom.js';
import { here } from './store.js';

/** Asks the server for its skills, and shows them in a place of its window. */
export async function showSkills(name, place) {
  const told = await attempt(() => ask('GET', here(`skills?server=${part(name)}`)));
  if (!told) return;
  const { skills = [], excluded = [], problem } = told.servers[0] ?? {};
  place.replaceChildren(...[
    h('h2', { id: 'skills' }, 'Skills'),
    skills.length ? table(skills) : h('p', { className: 'faint' }, 'It has no skills.'),
    problem && h('p', { className: 'wrong' }, `Not all of them are shown: ${problem}`),
    ...excluded.map(({ uri, reason }) => h('p', { className: 'wrong' }, `${uri} is left out: ${reason}`)),
  ].filter(Boolean));
}

const table = (skills) => h('table', { 'aria-labelledby': 'skills' },
  h('thead', {}, h('tr', {}, ['Name', 'Description', 'Address', 'Digest'].map((each) => h('th', { scope: 'col' }, each)))),
  h('tbody', {}, skills.map(({ uri, frontmatter, resources }) => h('tr', {},
    h('td', {}, frontmatter.name), h('td', {}, frontmatter.description), h('td', {}, uri), h('td', {}, digest(uri, resources))))));

/** The digest of its `SKILL.md`, if the server does not make it anew each time. */
const digest = (uri, resources) => (Array.isArray(resources) ? resources.find((file) => file.uri === uri)?.digest : 'dynamic');
