/** What a project wants to run: all of it, as it stands in the file, and what has changed since it was approved last. */

import { ask } from './api.js';
import { attempt, button, facts, h, notice, open, visibleJson, visibleWord } from './dom.js';
import { here, known, look } from './store.js';

export function openApproval(name) {
  const cases = known.approvals.filter((each) => each.name === name);
  if (!cases.length) return notice(`Nothing called ${name} needs approval.`);
  return open(`Approve ${visibleWord(name)}?`, (close) => cases.map((each) => {
    const decide = (verdict, done) => () => attempt(async () => {
      await ask('POST', here('approvals'), { name: each.name, digest: each.digest, verdict });
      close();
      await look();
    }, done);
    return h('section', { className: 'approval' },
      h('p', {}, `The ${each.kind} comes from the project's own files. Once approved, exactly this may run:`),
      runs(each.content).map((line) => h('p', { className: 'host' }, line)),
      h('pre', { tabindex: '0' }, visibleJson(each.content, 2)), facts([['File', visibleWord(`${each.at.origin}:${each.at.line}`)]]),
      each.secrets?.length > 0 && facts([['Gets secrets', each.secrets.map(visibleWord).join(', ')]]),
      each.changes?.length > 0 && h('div', {}, h('h2', {}, 'Changed since you approved it'),
        facts(each.changes.map(({ field, before, after }) => [visibleWord(field), `${show(before)} → ${show(after)}`]))),
      h('div', { className: 'actions' }, button('Approve', decide('approve', `${name} is approved.`), 'main'), button('Reject', decide('reject', `${name} is rejected.`), 'grave')));
  }));
}

/** The command line and the address in something that awaits approval, as far as it has any. */
function runs(content) {
  if (typeof content === 'string') return [visibleWord(content)];
  const { command, args, url } = content ?? {};
  const shown = (word) => (typeof word === 'string' ? visibleWord(word) : visibleJson(word));
  const words = command === undefined ? [] : [command, ...(Array.isArray(args) ? args : [])].map(shown);
  return [words.join(' '), typeof url === 'string' && visibleWord(url)].filter(Boolean);
}

const show = (value) => (value === undefined ? 'nothing' : visibleJson(value));
