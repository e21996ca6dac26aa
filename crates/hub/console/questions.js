/** The queue: what somebody has to decide, fill in or visit before a call goes on, and the answers that are remembered. */

import { ask, part } from './api.js';
import { attempt, button, facts, h, pre } from './dom.js';
import { form } from './form.js';
import { answered, known, lookAtQuestions } from './store.js';

/** For how long a yes or a no counts. */
const YES = [['once', 'Once'], ['session', 'For this session'], ['project', 'In this project'], ['always', 'Always']];

/** One question, ready to be answered. */
export function card(question, gone = () => {}) {
  const answer = async (body) => {
    await attempt(() => ask('POST', `questions/${part(question.id)}`, body));
    answered(question.id);
    gone();
  };
  const about = question.about ?? {};
  const draw = { permission, elicitation, sampling }[about.kind] ?? unknown;
  return h('article', { className: 'card', 'data-question': question.id }, draw(question, about, answer));
}

function permission(question, { tool, arguments: args, annotations = {}, because, allow }, answer) {
  const hints = [
    annotations.destructive !== false && !annotations.readOnly && 'may destroy something',
    annotations.readOnly && 'says that it only reads',
    annotations.openWorld && 'reaches beyond this machine',
  ].filter(Boolean).join(', ');
  return [
    h('h2', {}, `May ${question.server} do this?`),
    facts([['Tool', h('code', {}, tool)], ['Asked by', question.client], ['It', hints], ['Asked because', reason(because)], ['A rule that allows it', allow && h('code', {}, allow)]]),
    pre(args ?? {}),
    h('div', { className: 'actions' },
      YES.map(([remember, label], index) => button(index ? label : `Allow ${label.toLowerCase()}`, () => answer({ action: 'allow', remember }), index ? '' : 'main')),
      button('Deny', () => answer({ action: 'deny', remember: 'once' }), 'grave'),
      button('Never', () => answer({ action: 'deny', remember: 'never' }), 'grave')),
  ];
}

const reason = (because) => (typeof because === 'object' ? [because?.by, because?.rule?.text ?? because?.mode].filter(Boolean).join(' ') : because);

function elicitation(question, { params = {} }, answer) {
  const head = [h('h2', {}, `${question.server} asks`), h('p', {}, params.message ?? ''), facts([['In a call of', question.client]])];
  const others = [button('Decline', () => answer({ action: 'decline' })), button('Cancel', () => answer({ action: 'cancel' }))];
  if (params.mode === 'url') return [...head, ...visit(params.url, answer, others)];
  const done = (content) => answer({ action: 'accept', content });
  return [...head, form(params.requestedSchema, { submit: 'Send', done, more: others })];
}

/** A page elsewhere: its host is made plain before anything opens. */
function visit(address, answer, others) {
  const url = URL.canParse(address ?? '') ? new URL(address) : undefined;
  const safe = url && ['https:', 'http:'].includes(url.protocol);
  const go = () => {
    window.open(url.href, '_blank', 'noopener,noreferrer');
    answer({ action: 'accept' });
  };
  return [
    h('p', {}, safe ? 'It wants you to visit a page of ' : 'It names an address that is no page:'),
    safe && h('p', { className: 'host' }, url.host),
    safe && url.protocol === 'http:' && h('p', { className: 'wrong' }, 'The connection to it is not encrypted.'),
    safe && /(^|\.)xn--/.test(url.hostname) && h('p', { className: 'wrong' }, 'Its name is written with letters of other scripts.'),
    pre(String(address ?? '')),
    h('div', { className: 'actions' }, safe && button(`Open ${url.host}`, go, 'main'), others),
  ];
}

function sampling(question, { params = {} }, answer) {
  const done = ({ text }) => answer({ action: 'result', result: { role: 'assistant', model: 'a person', content: { type: 'text', text } } });
  const schema = { required: ['text'], properties: { text: { type: 'string', title: 'The answer', maxLength: 100_000 } } };
  const more = [button('Refuse', () => answer({ action: 'refuse', message: 'nobody wants to answer' }), 'grave')];
  return [h('h2', {}, `${question.server} wants a model to answer`), pre(params.messages ?? params), form(schema, { submit: 'Answer', done, more })];
}

const unknown = (question, about, answer) => [
  h('h2', {}, `${question.server} asks something that this page does not know`), pre(about),
  button('Cancel', () => answer({ action: 'cancel' })),
];

const LASTS = { project: 'In this project', always: 'Always', never: 'Never' };

/** The answers that are remembered, each with a way to take it back. */
function remembered(answers) {
  if (!answers.length) return [];
  const forget = (id) => attempt(async () => { await ask('DELETE', `answers/${part(id)}`); await lookAtQuestions(); });
  const row = ({ id, answer, server, tool, question, project }) => h('tr', { 'data-answer': id },
    h('td', {}, LASTS[answer] ?? answer), h('td', {}, server), h('td', {}, h('code', {}, tool)),
    h('td', {}, [question?.rule && `rule ${question.rule}`, project].filter(Boolean).join(' · ')),
    h('td', {}, button('Forget', () => forget(id))));
  return [h('h2', {}, 'Remembered answers'), h('table', {},
    h('thead', {}, h('tr', {}, ['Answer', 'Server', 'Tool', 'Where', 'Take back'].map((title) => h('th', {}, title)))),
    h('tbody', {}, answers.map(row)))];
}

/** The view. Cards stay as they are while others come and go, so that nothing typed is lost. */
export function view() {
  const cards = h('div', { className: 'cards' });
  const nothing = h('p', { className: 'empty' }, 'Nobody asks anything. While this page is open, it may be asked.');
  const kept = h('section', { className: 'remembered' });
  return {
    element: [h('div', { className: 'bar' }, h('h1', {}, 'Queue')), cards, kept],
    update() {
      for (const each of [...cards.children]) if (!known.questions.has(each.getAttribute('data-question'))) each.remove();
      for (const [id, question] of known.questions) {
        if (!cards.querySelector(`[data-question="${CSS.escape(id)}"]`)) cards.append(card(question));
      }
      if (!known.questions.size) cards.replaceChildren(nothing);
      kept.replaceChildren(...remembered(known.answers));
    },
  };
}
