/** Results, as they were meant to be seen: text, pictures, sounds, structures. All of it as data, none of it as markup. */

import { h, pre } from './dom.js';

const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const SOUNDS = /^audio\/[a-z0-9.+-]+$/;
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

/** @param {any} result of `tools/call` @returns {Node[]} */
export function resultOf(result) {
  const structured = result?.structuredContent;
  // Servers repeat a structured result as text, for older clients: it is shown once.
  const content = (result?.content ?? []).filter((each) => structured === undefined || !isSame(each, structured));
  const parts = content.map(block);
  if (structured !== undefined) parts.push(pre(structured));
  if (!parts.length) parts.push(h('p', { className: 'faint' }, 'The result is empty.'));
  return result?.isError ? [h('p', { className: 'wrong' }, 'The tool reports an error.'), ...parts] : parts;
}

/** Whether a text is the JSON of a value. */
function isSame(content, value) {
  if (content?.type !== 'text') return false;
  try {
    return canonical(JSON.parse(content.text)) === canonical(value);
  } catch {
    return false;
  }
}

/** The value as JSON, with the members of objects in order. */
const canonical = (value) => JSON.stringify(value, (_key, inner) => (inner && typeof inner === 'object' && !Array.isArray(inner)
  ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1))) : inner));

/** @param {any} result of `resources/read` */
export const contentsOf = (result) => (result?.contents ?? []).map(resource);

/** @param {any} result of `prompts/get` */
export const messagesOf = (result) => (result?.messages ?? []).map(({ role, content }) =>
  h('section', {}, h('h2', {}, String(role ?? '')), [content].flat().map(block)));

function block(content) {
  switch (content?.type) {
    case 'text': return pre(String(content.text ?? ''));
    case 'image': return picture(content) ?? pre(content);
    case 'audio': return sound(content) ?? pre(content);
    case 'resource': return resource(content.resource ?? {});
    case 'resource_link': return h('p', {}, h('strong', {}, content.title ?? content.name ?? ''), ' ', h('code', {}, String(content.uri ?? '')));
    default: return pre(content ?? null);
  }
}

function resource(content) {
  const inner = typeof content.text === 'string' ? pre(content.text)
    : picture({ ...content, data: content.blob }) ?? sound({ ...content, data: content.blob }) ?? pre(content);
  return h('figure', {}, h('figcaption', { className: 'faint' }, String(content.uri ?? '')), inner);
}

const isData = (content, kinds) => kinds.test(content.mimeType ?? '') && BASE64.test(content.data ?? '*');

function picture(content) {
  if (!isData(content, PICTURES)) return undefined;
  return h('img', { src: `data:${content.mimeType};base64,${content.data}`, alt: 'A picture that the server sent' });
}

function sound(content) {
  if (!isData(content, SOUNDS)) return undefined;
  return h('audio', { controls: true, preload: 'none', src: `data:${content.mimeType};base64,${content.data}`, 'aria-label': 'A sound that the server sent' });
}
