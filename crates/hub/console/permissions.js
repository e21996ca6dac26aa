/** Rules and remembered answers: what they say, where they stand, and what they would decide. */

import { ask, part } from './api.js';
import { attempt, h, loading, prose, table, tellProblem } from './dom.js';
import { answerLabel } from './permission-words.js';
import { here, isRead, known, lookAtQuestions, lookAtRules } from './store.js';

const LISTS = [['allow', 'Allow'], ['ask', 'Ask'], ['deny', 'Deny']];
const TONES = { allow: 'good', ask: 'warn', deny: 'bad' };
const SCOPES = [['local', 'This project, only for me'], ['user', 'All my projects']];

export function view() {
  const rules = h('section', { className: 'card', 'aria-label': 'Rules' });
  const answers = h('section', { className: 'card', 'aria-label': 'Remembered answers' });
  lookAtRules().catch(() => {});
  lookAtQuestions().catch(() => {});
  return {
    element: [h('div', { className: 'bar' }, h('h1', {}, 'Permissions')), h('div', { className: 'permissions' }, h('div', { className: 'cards' }, rules, answers), h('div', { className: 'cards' }, addForm(), tryForm()))],
    update() {
      rules.replaceChildren(...ruleParts());
      answers.replaceChildren(...answerParts());
    },
  };
}

/** What happens to a call that no rule decides. */
const MODES = {
  client: 'are left to the client’s own prompt', default: 'are put to a person', plan: 'are allowed if the tool only reads', auto: 'are decided by the tool’s annotations or a classifier',
  bypassPermissions: 'are allowed', dontAsk: 'are denied',
};
const place = (at) => (at ? `${at.origin}:${at.line}` : '');

function ruleParts() {
  if (!isRead('rules')) return [h('h2', {}, 'Rules'), loading()];
  const { rules, mode, modeAt, unclear } = known.rules;
  return [
    h('h2', {}, 'Rules'),
    h('p', { className: 'faint' }, 'Deny wins over ask, and ask over allow. ', mode && prose(`Calls that no rule decides ${MODES[mode] ?? 'follow the mode'} (mode \`${mode}\`${modeAt ? `, ${place(modeAt)}` : ''}).`)),
    unclear && h('p', { className: 'wrong' }, `The settings at ${place(unclear)} cannot be understood. All calls are refused until you correct them.`),
    rules.length ? table('Rules', ['Decision', 'Tools', 'Scope', 'File', '-Remove'], rules.map(ruleRow)) : h('p', {}, 'No rules.'),
  ].filter(Boolean);
}

function ruleRow(rule) {
  const { list, rule: written, text, scope, at, writable } = rule;
  const remove = () => attempt(async () => { await ask('DELETE', here('rules'), { list, rule: written, scope }); await lookAtRules(); }, 'The rule is removed.');
  return { 'data-rule': `${list} ${text}`, cells: [
    h('span', { className: `state ${TONES[list] ?? ''}` }, list),
    h('code', {}, text),
    scope,
    h('small', {}, place(at)),
    writable ? h('button', { type: 'button', 'aria-label': `Remove the rule ${list} ${text}`, onclick: remove }, 'Remove') : h('small', {}, 'cannot be changed here'),
  ] };
}

function addForm() {
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const list = h('select', { id: 'rule-list' }, LISTS.map(([value, label]) => h('option', { value }, label)));
  const text = h('input', { id: 'rule-text', required: true, autocomplete: 'off', spellcheck: 'false', placeholder: 'mcp__github__*', list: 'rule-tools' });
  const scope = h('select', { id: 'rule-scope' }, SCOPES.map(([value, label]) => h('option', { value }, label)));
  const offered = toolChoices('rule-tools', text);
  return h('form', { className: 'card', 'aria-label': 'Add a rule', onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = '';
    try {
      await ask('POST', here('rules'), { list: list.value, rule: text.value.trim(), scope: scope.value });
      text.value = '';
      await lookAtRules();
    } catch (refused) {
      tellProblem(problem, refused);
    }
  } }, h('h2', {}, 'Add a rule'),
  h('div', { className: 'actions' },
    h('div', { className: 'field' }, h('label', { for: 'rule-list' }, 'Decision'), list),
    h('div', { className: 'field' }, h('label', { for: 'rule-text' }, 'Tools'), text, offered),
    h('div', { className: 'field' }, h('label', { for: 'rule-scope' }, 'Applies to'), scope)),
  problem, h('div', { className: 'actions' }, h('button', { type: 'submit', className: 'main' }, 'Add the rule')));
}

/** The names of all tools, offered as completions. */
function toolChoices(id, input) {
  const offered = h('datalist', { id });
  input.addEventListener('focus', () => offered.replaceChildren(...known.catalog.tools.slice(0, 500).map(({ name }) => h('option', { value: name }))));
  return offered;
}

/** Would this be allowed, and why: asked of the same code that decides calls. No call is made. */
function tryForm() {
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const answer = h('div', { role: 'status', className: 'cards' });
  const tool = h('input', { id: 'try-tool', required: true, autocomplete: 'off', spellcheck: 'false', placeholder: 'mcp__github__delete_branch', list: 'try-tools' });
  const args = h('textarea', { id: 'try-arguments', spellcheck: 'false', placeholder: '{}' });
  const principal = h('input', { id: 'try-principal', autocomplete: 'off', spellcheck: 'false', placeholder: 'local' });
  const groups = h('input', { id: 'try-groups', autocomplete: 'off', spellcheck: 'false', placeholder: 'dev, ops' });
  return h('form', { className: 'card', 'aria-label': 'Try a call', onsubmit: async (event) => {
    event.preventDefault();
    problem.textContent = '';
    answer.replaceChildren();
    try {
      const told = await ask('POST', here('rules/explain'), {
        tool: tool.value.trim(),
        arguments: args.value.trim() ? JSON.parse(args.value) : {},
        as: principal.value.trim() || 'local',
        groups: groups.value.split(',').map((group) => group.trim()).filter(Boolean),
      });
      answer.replaceChildren(...verdict(told));
    } catch (refused) {
      tellProblem(problem, refused);
    }
  } }, h('h2', {}, 'Would this be allowed?'),
  h('div', { className: 'field' }, h('label', { for: 'try-tool' }, 'Tool'), tool, toolChoices('try-tools', tool)),
  h('details', {}, h('summary', {}, 'With arguments'), h('div', { className: 'field' }, h('label', { for: 'try-arguments' }, 'Arguments, as JSON'), args)),
  h('details', {}, h('summary', {}, 'For another user'), h('div', { className: 'actions' },
    h('div', { className: 'field' }, h('label', { for: 'try-principal' }, 'Principal'), principal),
    h('div', { className: 'field' }, h('label', { for: 'try-groups' }, 'Groups, with commas between'), groups))),
  problem, h('div', { className: 'actions' }, h('button', { type: 'submit' }, 'Try')), answer);
}

const WORDS = { allow: 'Allowed', ask: 'A person is asked', deny: 'Denied' };

function verdict({ verdict: word, reason, mode, hooks, listed, rules = [] }) {
  return [
    h('p', {}, h('span', { className: `state ${TONES[word] ?? ''}` }, WORDS[word] ?? word), ` ${reason}`),
    listed === false && h('p', { className: 'faint' }, 'The tool is not in the lists of this principal.'),
    hooks > 0 && h('p', { className: 'faint' }, `${hooks === 1 ? 'A hook runs' : `${hooks} hooks run`} before the call and may decide otherwise.`),
    rules.length > 0
      ? table('Rules about this tool', ['Decision', 'Rule', 'File', 'Effect'], rules.map(({ list, text, at, effect }) => [
        list, h('code', {}, text), h('small', {}, place(at)), String(effect).replaceAll('-', ' ')]))
      : h('p', { className: 'faint' }, `No rule matches this tool; the mode is ${mode}.`),
  ].filter(Boolean);
}

/** The answers that are remembered, each with a way to take it back. */
function answerParts() {
  const forget = (id) => attempt(async () => { await ask('DELETE', `answers/${part(id)}`); await lookAtQuestions(); }, 'The answer is forgotten.');
  const row = ({ id, answer, server, tool, question, project }) => ({ 'data-answer': id, cells: [
    answerLabel(answer), server, h('code', {}, tool),
    h('small', {}, [question?.rule ? `the rule ask ${question.rule}` : 'no rule decided', project].filter(Boolean).join(' · ')),
    h('button', { type: 'button', 'aria-label': `Forget the answer for ${tool}`, onclick: () => forget(id) }, 'Forget'),
  ] });
  if (!isRead('questions')) return [h('h2', {}, 'Remembered answers'), loading()];
  return [h('h2', {}, 'Remembered answers'), known.answers.length
    ? table('Remembered answers', ['Answer', 'Server', 'Tool', 'Asked because', '-Forget'], known.answers.map(row))
    : h('p', { className: 'faint' }, 'None. Answers that begin with “Always” appear here.')];
}
