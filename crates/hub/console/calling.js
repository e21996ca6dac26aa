/** One call: a form, how far it is, what is asked meanwhile, what came of it. */

import { ask, events, part } from './api.js';
import { button, calmly, facts, h, open, pre, wrong } from './dom.js';
import { contentsOf, messagesOf, resultOf } from './content.js';
import { asJson, form } from './form.js';
import { card } from './questions.js';
import { at, here, known } from './store.js';
import { expand, variables } from './template.js';

/** @returns {Promise<any>} what a call came to, where nothing but that matters */
export async function call(request) {
  for await (const { name, data } of events('POST', address(), { body: request })) {
    if (name === 'done') return data.result;
    if (name === 'failed') throw failure(data);
  }
  throw { title: 'the hub has ended' };
}

const address = (repeats) => here(`call?${[known.session && `session=${part(known.session)}`, repeats && `repeats=${part(repeats)}`].filter(Boolean).join('&')}`);
const failure = ({ error = {} }) => ({ title: (error.causes ?? []).join(': '), hint: error.hint });

/** A window for a tool. `repeats` names the call that `start` comes from: what is hidden in it stays what it was. */
export function openTool(listed, start = {}, repeats = undefined) {
  const { item = {}, name, server, cost } = listed;
  const schema = item.inputSchema ?? {};
  const annotations = item.annotations ?? {};
  placing(item.title ?? annotations.title ?? item.name ?? name, (go) => [
    h('p', {}, item.description ?? ''),
    facts([
      ['Server', server], ['Full name', h('code', {}, name)], ['Costs', cost !== undefined && `${cost} tokens`],
      ['Says of itself', Object.entries(annotations).filter(([, value]) => value === true).map(([key]) => key.replace(/Hint$/, '')).join(', ')],
    ]),
    fields(schema, start, 'Call', (args) => go({ method: 'tools/call', params: { name, arguments: args }, progress: true }, resultOf, repeats)),
    h('details', {}, h('summary', {}, 'Schema'), pre(schema)),
  ]);
}

/** The generated form, or the arguments as JSON where somebody would rather write them. */
function fields(schema, start, submit, done) {
  const place = h('div', {}, form(schema, { submit, done, start }));
  const other = h('details', {}, h('summary', {}, 'Write the arguments as JSON'), asJson(start, { submit: `${submit} with this`, done }));
  return h('div', {}, place, other);
}

/** How the result of each method is shown. */
const DRAWN = { 'tools/call': resultOf, 'prompts/get': messagesOf, 'resources/read': contentsOf };
export const drawn = (method, result) => (DRAWN[method] ?? ((other) => [pre(other)]))(result);

/** Makes a call again, as it was. */
export function repeat({ method, params, server, name }, id) {
  placing(`${name || method}, again`, (go) => {
    go({ method, params, server, progress: method === 'tools/call' }, (result) => drawn(method, result), id);
    return [pre(params)];
  });
}

/** A window for a prompt. */
export function openPrompt({ item = {}, name, server }) {
  const args = item.arguments ?? [];
  placing(item.title ?? item.name ?? name, (go) => {
    const filled = form(texts(args), { submit: 'Fill in', done: (values) => go({ method: 'prompts/get', params: { name, arguments: values } }, messagesOf) });
    complete(filled, args.map((each) => each.name), { type: 'ref/prompt', name }, server);
    return [h('p', {}, item.description ?? ''), facts([['Server', server], ['Full name', h('code', {}, name)]]), filled];
  });
}

/** The schema of fields that are all text. */
const texts = (fields) => ({
  required: fields.filter((each) => each.required).map((each) => each.name),
  properties: Object.fromEntries(fields.map((each) => [each.name, { type: 'string', title: each.title ?? each.name, description: each.description }])),
});

/** Offers what the server knows while somebody types. */
function complete(element, names, ref, server) {
  if (!known.servers.find(({ name }) => name === server)?.offers?.includes('completions')) return;
  const inputs = [...element.querySelectorAll('input')];
  inputs.forEach((input, index) => {
    const offered = h('datalist', { id: `offered-${input.id}` });
    input.setAttribute('list', offered.id);
    input.after(offered);
    const ask = calmly(async () => {
      const others = names.map((name, other) => [name, inputs[other]?.value]).filter(([name, value]) => value && name !== names[index]);
      const params = { ref, argument: { name: names[index], value: input.value }, context: { arguments: Object.fromEntries(others) } };
      const result = await call({ method: 'completion/complete', params, server }).catch(() => undefined);
      offered.replaceChildren(...(result?.completion?.values ?? []).map((value) => h('option', { value })));
    }, 200);
    input.addEventListener('input', ask);
    input.addEventListener('focus', ask);
  });
}

/** A window for a resource, or for a template of some. */
export function openResource({ item = {}, server }) {
  const template = item.uriTemplate;
  placing(item.title ?? item.name ?? item.uri ?? template, (go) => {
    const read = (uri) => go({ method: 'resources/read', params: { uri }, server }, contentsOf);
    return [
      h('p', {}, item.description ?? ''),
      facts([['Server', server], ['Kind', item.mimeType], ['Template', template && h('code', {}, template)]]),
      template ? filling(template, server, read) : form(ADDRESS, { submit: 'Read', start: { uri: item.uri }, done: ({ uri }) => read(uri) }),
    ];
  });
}

const ADDRESS = { required: ['uri'], properties: { uri: { type: 'string', title: 'Address' } } };

/** The variables of a template, and the address that they make. */
function filling(template, server, read) {
  const names = variables(template);
  const made = h('code', {}, expand(template, {}));
  const element = form(texts(names.map((name) => ({ name }))), { submit: 'Read', done: (values) => read(expand(template, values)) });
  const inputs = [...element.querySelectorAll('input')];
  element.addEventListener('input', () => { made.textContent = expand(template, Object.fromEntries(names.map((name, index) => [name, inputs[index].value]))); });
  complete(element, names, { type: 'ref/resource', uri: template }, server);
  return h('div', {}, element, h('p', { className: 'faint' }, 'Reads ', made));
}

/** A window in which a call is made. Closing it cancels what is under way. */
function placing(title, body) {
  let calling = new AbortController();
  const place = h('section', { 'aria-label': 'What came of it', 'aria-live': 'polite' });
  const go = async (request, draw, repeats) => {
    calling.abort();
    calling = new AbortController();
    const { signal } = calling;
    const bar = h('progress', { 'aria-label': 'How far it is' });
    const said = h('p', { className: 'faint' }, 'Calling…');
    const asked = h('div', {});
    place.replaceChildren(bar, said, asked, button('Cancel the call', () => { calling.abort(); place.replaceChildren(h('p', {}, 'Cancelled.')); }));
    const began = performance.now();
    try {
      for await (const { name, data } of events('POST', address(repeats), { body: request, signal })) {
        if (name === 'progress') progressed(bar, said, data);
        if (name === 'question') asked.append(card(data, () => asked.replaceChildren()));
        if (name === 'failed') throw failure(data);
        if (name === 'done') {
          const took = `Done in ${Math.round(performance.now() - began)} ms`;
          place.replaceChildren(h('p', { className: 'faint' }, took), ...draw(data.result), ...(data.note ? [h('p', {}, data.note)] : []));
        }
      }
    } catch (problem) {
      if (!signal.aborted) place.replaceChildren(h('p', { className: 'wrong', role: 'alert' }, wrong(problem)));
    }
  };
  open(String(title ?? ''), () => [...body(go), place], () => calling.abort());
}

function progressed(bar, said, { progress, total, message }) {
  if (total) { bar.max = total; bar.value = progress; }
  said.textContent = [message, total ? `${progress} of ${total}` : progress].filter(Boolean).join(' · ');
}

/** Has somebody sign in: whose page it is, they see before it opens. */
export async function signIn(server) {
  const { url } = await ask('POST', at(server, 'sign-in'));
  const { host, protocol } = new URL(url);
  if (!['https:', 'http:'].includes(protocol)) throw { title: `the address to sign in at is no page: ${url}` };
  return open(`Sign in to ${server}`, (close) => [
    h('p', {}, 'You sign in at a page of '), h('p', { className: 'host' }, host), pre(url),
    h('p', { className: 'faint' }, 'The server is connected to as soon as that is done.'),
    button(`Open ${host}`, () => { window.open(url, '_blank', 'noopener,noreferrer'); close(); }, 'main'),
  ]);
}
