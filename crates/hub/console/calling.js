/** One call: a form, how far it is, what is asked meanwhile, what came of it. */

import { ask, events } from './api.js';
import { appCard, appOf } from './app-card.js';
import { button, calmly, drawer, facts, h, open, pre, prose, wrong } from './dom.js';
import { contentsOf, messagesOf, resultOf } from './content.js';
import { asJson, form } from './form.js';
import { card } from './questions.js';
import { address, call, failure } from './request.js';
import { describeAnnotations } from './permission-words.js';
import { at, known } from './store.js';
import { expand, variables } from './template.js';
import { count, millis } from './units.js';

/** A window for a tool. `repeats` names the call that `start` comes from: what is hidden in it stays what it was. */
export function openTool(listed, start = {}, repeats = undefined) {
  const { item = {}, name, server, cost } = listed;
  const schema = item.inputSchema ?? {};
  const annotations = item.annotations ?? {};
  const uri = appOf(item);
  const app = uri && appCard(listed, uri);
  // Beside an app the result itself is rarely read.
  const draw = (result) => (app && !result?.isError ? [h('details', {}, h('summary', {}, 'Result'), resultOf(result))] : resultOf(result));
  return placing(item.title ?? annotations.title ?? item.name ?? name, (go) => [
    h('p', {}, item.description ?? ''),
    facts([
      ['Server', server], ['Full name', h('code', {}, name)], ['In a full list', cost !== undefined && count(cost, 'token')],
      ['The tool', item.annotations && describeAnnotations(item.annotations)],
    ]),
    fields(schema, start, 'Call', (args) => go({ method: 'tools/call', params: { name, arguments: args }, progress: true }, draw, repeats), app?.partial),
    h('details', {}, h('summary', {}, 'Schema'), pre(schema)),
  ], app);
}

/** The generated form, or the arguments as JSON where somebody would rather write them. */
function fields(schema, start, submit, done, changed) {
  const place = h('div', {}, form(schema, { submit, done, start, changed }));
  const other = h('details', {}, h('summary', {}, 'Write the arguments as JSON'), asJson(start, { submit: `${submit} with this`, done }));
  return h('div', {}, place, other);
}

/** How the result of each method is shown. */
const DRAWN = { 'tools/call': resultOf, 'prompts/get': messagesOf, 'resources/read': contentsOf };
export const drawn = (method, result) => (DRAWN[method] ?? ((other) => [pre(other)]))(result);

/** Makes a call again, as it was. */
export function repeat({ method, params, server, name }, id) {
  return placing(`${name || method}, again`, (go) => {
    go({ method, params, server, progress: method === 'tools/call' }, (result) => drawn(method, result), id);
    return [pre(params)];
  });
}

/** A window for a prompt. */
export function openPrompt({ item = {}, name, server }) {
  const args = item.arguments ?? [];
  return placing(item.title ?? item.name ?? name, (go) => {
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
  return placing(item.title ?? item.name ?? item.uri ?? template, (go) => {
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

/** A window in which a call is made, and the app that follows it. Closing it cancels what is under way. */
function placing(title, body, app = undefined) {
  let calling = new AbortController();
  const place = h('section', { 'aria-label': 'Result', 'aria-live': 'polite' });
  const go = async (request, draw, repeats) => {
    calling.abort();
    calling = new AbortController();
    const { signal } = calling;
    const bar = h('progress', { 'aria-label': 'Progress' });
    const said = h('p', { className: 'faint' }, 'Calling…');
    const asked = h('div', {});
    place.replaceChildren(bar, said, asked, button('Cancel the call', () => { calling.abort(); place.replaceChildren(h('p', {}, 'Cancelled.')); }));
    const began = performance.now();
    app?.began(request.params.arguments);
    try {
      for await (const { name, data } of events('POST', address({ repeats, results: app && 'whole' }), { body: request, signal })) {
        if (name === 'progress') progressed(bar, said, data);
        if (name === 'question') asked.append(card(data, () => asked.replaceChildren()));
        if (name === 'failed') throw failure(data);
        if (name === 'done') {
          const took = `Done in ${millis(performance.now() - began)}`;
          app?.done(data.result);
          place.replaceChildren(h('p', { className: 'faint' }, took), ...draw(data.result), ...(data.note ? [h('p', {}, data.note)] : []));
        }
      }
    } catch (problem) {
      // A later call may have taken the place of this one.
      if (calling.signal === signal) app?.cancelled(signal.aborted ? 'cancelled by a person' : String(problem?.title ?? problem));
      if (!signal.aborted) place.replaceChildren(h('p', { className: 'wrong', role: 'alert' }, prose(wrong(problem))));
    }
  };
  return drawer(String(title ?? ''), () => [...body(go), place, app?.element], () => {
    calling.abort();
    return app?.close();
  });
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
    h('p', {}, 'You sign in on a page of '), h('p', { className: 'host' }, host), pre(url),
    h('p', { className: 'faint' }, 'Switchboard connects to the server as soon as you have signed in.'),
    button(`Open ${host}`, () => { window.open(url, '_blank', 'noopener,noreferrer'); close(); }, 'main'),
  ]);
}
