/** One call: a form, how far it is, what is asked meanwhile, what came of it. */

import { events, part } from './api.js';
import { button, calmly, facts, h, open, pre, wrong } from './dom.js';
import { contentsOf, messagesOf, resultOf } from './content.js';
import { asJson, form } from './form.js';
import { card } from './questions.js';
import { here, known, lookAtCatalog } from './store.js';

/** @returns {Promise<any>} what a call came to, where nothing but that matters */
export async function call(request) {
  for await (const { name, data } of events('POST', address(), { body: request })) {
    if (name === 'done') return data.result;
    if (name === 'failed') throw failure(data);
  }
  throw { title: 'the hub has ended' };
}

const address = () => here(`call${known.session ? `?session=${part(known.session)}` : ''}`);
const failure = ({ error = {} }) => ({ title: (error.causes ?? []).join(': '), hint: error.hint });

/** A window for a tool. */
export function openTool(listed, start = {}) {
  const { item = {}, name, server, cost } = listed;
  const schema = item.inputSchema ?? {};
  const annotations = item.annotations ?? {};
  placing(item.title ?? annotations.title ?? item.name ?? name, (go) => [
    h('p', {}, item.description ?? ''),
    facts([
      ['Server', server], ['Full name', h('code', {}, name)], ['Costs', cost !== undefined && `${cost} tokens`],
      ['Says of itself', Object.entries(annotations).filter(([, value]) => value === true).map(([key]) => key.replace(/Hint$/, '')).join(', ')],
    ]),
    fields(schema, start, 'Call', (args) => go({ method: 'tools/call', params: { name, arguments: args }, progress: true }, resultOf)),
    h('details', {}, h('summary', {}, 'Schema'), pre(schema)),
  ]);
}

/** The generated form, or the arguments as JSON where somebody would rather write them. */
function fields(schema, start, submit, done) {
  const place = h('div', {}, form(schema, { submit, done, start }));
  const other = h('details', {}, h('summary', {}, 'Write the arguments as JSON'), asJson(start, { submit: `${submit} with this`, done }));
  return h('div', {}, place, other);
}

/** A window for a prompt. */
export function openPrompt({ item = {}, name, server }) {
  const schema = {
    required: (item.arguments ?? []).filter((each) => each.required).map((each) => each.name),
    properties: Object.fromEntries((item.arguments ?? []).map((each) => [each.name, { type: 'string', title: each.title ?? each.name, description: each.description }])),
  };
  placing(item.title ?? item.name ?? name, (go) => {
    const filled = form(schema, { submit: 'Fill in', done: (args) => go({ method: 'prompts/get', params: { name, arguments: args } }, messagesOf) });
    complete(filled, item.arguments ?? [], { type: 'ref/prompt', name }, server);
    return [h('p', {}, item.description ?? ''), facts([['Server', server], ['Full name', h('code', {}, name)]]), filled];
  });
}

/** Offers what the server knows while somebody types. */
function complete(element, args, ref, server) {
  if (!known.servers.find(({ name }) => name === server)?.offers?.includes('completions')) return;
  element.querySelectorAll('input').forEach((input, index) => {
    const offered = h('datalist', { id: `offered-${input.id}` });
    input.setAttribute('list', offered.id);
    input.after(offered);
    input.addEventListener('input', calmly(async () => {
      const argument = { name: args[index].name, value: input.value };
      const result = await call({ method: 'completion/complete', params: { ref, argument }, server }).catch(() => undefined);
      offered.replaceChildren(...(result?.completion?.values ?? []).map((value) => h('option', { value })));
    }, 200));
  });
}

/** A window for a resource, or for a template of some. */
export function openResource({ item = {}, server }) {
  const template = item.uriTemplate;
  const schema = { required: ['uri'], properties: { uri: { type: 'string', title: 'Address' } } };
  placing(item.title ?? item.name ?? item.uri ?? template, (go) => [
    h('p', {}, item.description ?? ''),
    facts([['Server', server], ['Kind', item.mimeType], ['Template', template && h('code', {}, template)]]),
    form(schema, { submit: 'Read', start: { uri: item.uri ?? template }, done: ({ uri }) => go({ method: 'resources/read', params: { uri }, server }, contentsOf) }),
  ]);
}

/** A window in which a call is made. Closing it cancels what is under way. */
function placing(title, body) {
  let calling = new AbortController();
  const place = h('section', { 'aria-label': 'What came of it', 'aria-live': 'polite' });
  const go = async (request, draw) => {
    calling.abort();
    calling = new AbortController();
    const { signal } = calling;
    const bar = h('progress', { 'aria-label': 'How far it is' });
    const said = h('p', { className: 'faint' }, 'Calling…');
    const asked = h('div', {});
    place.replaceChildren(bar, said, asked, button('Cancel the call', () => { calling.abort(); place.replaceChildren(h('p', {}, 'Cancelled.')); }));
    const began = performance.now();
    try {
      for await (const { name, data } of events('POST', address(), { body: request, signal })) {
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

/** Has somebody sign in: the server's own tool says where. */
export async function signIn(server) {
  const way = () => known.catalog.tools.find((each) => each.server === server && each.item?.name === 'authenticate');
  // What is known of the tools may be older than what is known of the server.
  if (!way()) await lookAtCatalog();
  const tool = way();
  if (!tool) throw { title: `nobody can sign in to ${server} here`, hint: `\`switchboard login ${server}\` may` };
  const result = await call({ method: 'tools/call', params: { name: tool.name, arguments: {} } });
  const text = (result.content ?? []).map(({ text: each }) => each ?? '').join('\n');
  const address = text.split(/\s+/).find((word) => /^https?:\/\//.test(word) && URL.canParse(word));
  if (!address) return open(`Sign in to ${server}`, () => [pre(text)]);
  const { host } = new URL(address);
  return open(`Sign in to ${server}`, (close) => [
    h('p', {}, 'You sign in at a page of '), h('p', { className: 'host' }, host), pre(address),
    button(`Open ${host}`, () => { window.open(address, '_blank', 'noopener,noreferrer'); close(); }, 'main'),
  ]);
}

