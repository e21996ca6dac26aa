/** Questions: what a person has to decide, fill in or visit before a call goes on. */

import { ask, isForPeople, part } from './api.js';
import { attempt, button, facts, h, loading, pre } from './dom.js';
import { form } from './form.js';
import { ANSWERS, describeAnnotations, permissionSentence } from './permission-words.js';
import { answered, isRead, known } from './store.js';

/** The answers that are offered. Those of the people of `serve` are for their session at most. */
const OFFERED = isForPeople ? ANSWERS.filter(({ remember }) => remember === 'once' || remember === 'session') : ANSWERS;

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

function permission(question, { tool, arguments: args, annotations, because, allow }, answer) {
  return [
    h('h2', {}, permissionSentence(question)),
    facts([['Tool', h('code', {}, tool)], ['Client', question.client], ['Server', question.server], ['The tool', describeAnnotations(annotations)], ['Asked because', because && reason(because)], ['Rule to allow it', allow && h('code', {}, allow)]]),
    Object.keys(args ?? {}).length ? pre(args) : h('p', { className: 'faint' }, 'No arguments.'),
    h('div', { className: 'actions' }, OFFERED.map(({ label, kind, ...body }) => button(label, () => answer(body), kind))),
  ];
}

/** Why a person is asked: `because` is the reason of a permission decision as the hub gives it. */
function reason({ by, text, at, mode, reason: said }) {
  const clause = {
    rule: 'a rule says so: ', mode: `no rule decides, and the mode is ${mode}`, hook: 'a hook asks', classifier: 'the classifier asks', interaction: 'the tool wants a person to look at each call',
  }[by] ?? by;
  return [clause, text && h('code', {}, text), said && `: ${said}`, at && h('small', {}, ` (${at.origin}:${at.line})`)];
}

function elicitation(question, { params = {} }, answer) {
  const head = [h('h2', {}, `${question.server} asks you`), h('p', {}, params.message ?? ''), facts([['Client', question.client]])];
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
    h('p', {}, safe ? 'It wants you to open a page on this host:' : 'It names an address that is not a web page:'),
    safe && h('p', { className: 'host' }, url.host),
    safe && url.protocol === 'http:' && h('p', { className: 'wrong' }, 'The connection to it is not encrypted.'),
    safe && /(^|\.)xn--/.test(url.hostname) && h('p', { className: 'wrong' }, 'The name contains letters of another script, which may look like familiar ones.'),
    pre(String(address ?? '')),
    h('div', { className: 'actions' }, safe && button(`Open ${url.host}`, go, 'main'), others),
  ];
}

function sampling(question, { params = {} }, answer) {
  const done = ({ text }) => answer({ action: 'result', result: { role: 'assistant', model: 'a person', content: { type: 'text', text } } });
  const schema = { required: ['text'], properties: { text: { type: 'string', title: 'The answer', maxLength: 100_000 } } };
  const more = [button('Refuse', () => answer({ action: 'refuse', message: 'the person refused to answer' }), 'grave')];
  return [h('h2', {}, `${question.server} wants an answer from a model`), pre(params.messages ?? params), form(schema, { submit: 'Answer', done, more })];
}

const unknown = (question, about, answer) => [
  h('h2', {}, `${question.server} asks something that this page cannot show`), pre(about),
  button('Cancel', () => answer({ action: 'cancel' })),
];

/** The view. Cards stay as they are while others come and go, so that nothing typed is lost. */
export function view() {
  const cards = h('div', { className: 'card-grid' });
  const nothing = h('p', { className: 'empty' }, 'No questions. Questions that your clients cannot show will appear here while this page is open.');
  return {
    element: [h('div', { className: 'bar' }, h('h1', {}, 'Questions')), cards, !isForPeople && h('p', { className: 'faint' }, 'Remembered answers are listed under ', h('a', { href: '#/permissions' }, 'Permissions'), '.')].filter(Boolean),
    update() {
      for (const each of [...cards.children]) if (!known.questions.has(each.getAttribute('data-question'))) each.remove();
      for (const [id, question] of known.questions) {
        if (!cards.querySelector(`[data-question="${CSS.escape(id)}"]`)) cards.append(card(question));
      }
      if (!known.questions.size) cards.replaceChildren(isRead('questions') ? nothing : loading());
    },
  };
}
