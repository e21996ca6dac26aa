/** A form made from a JSON schema: one field for each member, with the schema's own conditions. */

import { button, h, pre } from './dom.js';

/** What kinds of text the browser can check by itself. */
const FORMATS = { email: 'email', uri: 'url', date: 'date', password: 'password' };

/**
 * @typedef {{ element: HTMLElement, read: () => unknown }} Field `read` gives `undefined` where nothing was filled in, and
 *   throws a sentence where it cannot be understood
 */

/**
 * @param {any} schema of an object
 * @param {{ submit: string, done: (value: any) => void, more?: HTMLElement[], start?: Record<string, unknown>, changed?: (value: any) => void }} options
 *   `changed` gets what is filled in so far
 */
export function form(schema, { submit, done, more = [], start = {}, changed = undefined }) {
  const required = new Set(schema?.required ?? []);
  const fields = Object.entries(schema?.properties ?? {})
    .map(([name, member]) => [name, field(name, member ?? {}, required.has(name), start[name] ?? member?.default)]);
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const element = h('form', { onsubmit: (event) => {
    event.preventDefault();
    try {
      problem.textContent = '';
      done(Object.fromEntries(fields.map(([name, { read }]) => [name, read()]).filter(([, value]) => value !== undefined)));
    } catch (wrong) {
      problem.textContent = String(wrong?.message ?? wrong);
    }
  } }, fields.map(([, { element: each }]) => each), problem,
  h('div', { className: 'actions' }, h('button', { type: 'submit', className: 'main' }, submit), more));
  if (changed) element.addEventListener('input', () => changed(readable(fields)));
  return element;
}

/** The fields that can be understood as they are. */
function readable(fields) {
  const pairs = fields.map(([name, { read }]) => {
    try {
      return [name, read()];
    } catch {
      return [name, undefined];
    }
  });
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
}

/** A schema that may also be null, as generators write optional members, without the null. */
function withoutNull(schema) {
  const listed = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(schema.type) && schema.type.length === 2 && schema.type.includes('null')) {
    return { ...schema, type: schema.type.find((each) => each !== 'null') };
  }
  if (!Array.isArray(listed) || listed.length !== 2) return schema;
  const [inner, other] = listed[0]?.type === 'null' ? [listed[1], listed[0]] : listed;
  if (other?.type !== 'null' || !inner) return schema;
  const { anyOf: _any, oneOf: _one, default: start, ...rest } = schema;
  return { ...inner, ...rest, ...(start === null || start === undefined ? {} : { default: start }) };
}

/** @returns {Field} */
function field(name, given, required, start) {
  const schema = withoutNull(given);
  const title = schema.title ?? name;
  const choices = choicesOf(schema);
  if (choices) return chosen(title, schema, choices, required, start);
  const manyChoices = schema.type === 'array' && choicesOf(schema.items ?? {});
  if (manyChoices) return ticked(title, schema, manyChoices, start);
  switch (schema.type) {
    case 'boolean': return flag(title, schema, start);
    case 'integer': case 'number': return number(title, schema, required, start);
    case 'string': return text(title, schema, required, start);
    case 'array': return schema.items?.type === 'string' ? lines(title, schema, required, start) : json(title, schema, required, start);
    default: return json(title, schema, required, start);
  }
}

/** The values of an enumeration with their names, whichever way it is written. */
function choicesOf(schema) {
  if (Array.isArray(schema.enum)) return schema.enum.map((value, index) => [value, schema.enumNames?.[index] ?? String(value)]);
  const listed = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(listed) || !listed.every((each) => each && 'const' in each)) return undefined;
  return listed.map((each) => [each.const, each.title ?? String(each.const)]);
}

let ids = 0;

/** A field with its name before it and its description after. */
function labelled(title, schema, required, input) {
  const id = `field-${++ids}`;
  input.id = id;
  if (schema.description) input.setAttribute('aria-describedby', `${id}-more`);
  return h('div', { className: 'field' },
    h('label', { for: id }, title, required && h('span', { className: 'faint' }, ' (required)')),
    input,
    schema.description && h('small', { id: `${id}-more`, className: 'faint' }, schema.description));
}

function text(title, schema, required, start) {
  const long = (schema.maxLength ?? 0) > 200;
  const input = h(long ? 'textarea' : 'input', {
    type: long ? undefined : FORMATS[schema.format] ?? 'text',
    value: start ?? '', required, autocomplete: 'off',
    minlength: schema.minLength, maxlength: schema.maxLength, pattern: patternOf(schema),
  });
  return { element: labelled(title, schema, required, input), read: () => (input.value === '' && !required ? undefined : input.value) };
}

/** A list of texts: one on each line. */
function lines(title, schema, required, start) {
  const more = [schema.description, 'One on each line.'].filter(Boolean).join(' ');
  const input = h('textarea', { required: required && schema.minItems > 0, spellcheck: 'false', value: Array.isArray(start) ? start.join('\n') : '' });
  return {
    element: labelled(title, { ...schema, description: more }, required, input),
    read() {
      const values = input.value.split('\n').map((line) => line.trimEnd()).filter(Boolean);
      if (values.length < (schema.minItems ?? 0)) throw new Error(`${title}: at least ${schema.minItems} lines`);
      if (values.length > (schema.maxItems ?? Infinity)) throw new Error(`${title}: at most ${schema.maxItems} lines`);
      return values.length || required ? values : undefined;
    },
  };
}

/** A pattern of the browser's means the whole text; one that it does not understand is left to the server. */
function patternOf({ pattern }) {
  if (typeof pattern !== 'string') return undefined;
  const whole = `.*(?:${pattern}).*`;
  try {
    new RegExp(whole, 'v');
    return whole;
  } catch {
    return undefined;
  }
}

function number(title, schema, required, start) {
  const input = h('input', {
    type: 'number', required, value: start ?? '', min: schema.minimum, step: schema.type === 'integer' ? 1 : 'any',
  });
  if (schema.maximum !== undefined) input.setAttribute('max', schema.maximum);
  return { element: labelled(title, schema, required, input), read: () => (input.value === '' ? undefined : Number(input.value)) };
}

function flag(title, schema, start) {
  const input = h('input', { type: 'checkbox', checked: start === true });
  let touched = start !== undefined;
  input.addEventListener('change', () => { touched = true; });
  const element = h('div', { className: 'field' }, h('label', { className: 'check' }, input, title),
    schema.description && h('small', { className: 'faint' }, schema.description));
  return { element, read: () => (touched ? input.checked : undefined) };
}

function chosen(title, schema, choices, required, start) {
  const options = choices.map(([value, label], index) => h('option', { value: index, selected: value === start }, label));
  const input = h('select', { required }, h('option', { value: '' }, required ? 'choose…' : '—'), options);
  return { element: labelled(title, schema, required, input), read: () => (input.value === '' ? undefined : choices[Number(input.value)][0]) };
}

function ticked(title, schema, choices, start) {
  const boxes = choices.map(([value]) => h('input', { type: 'checkbox', checked: Array.isArray(start) && start.includes(value) }));
  const element = h('fieldset', {}, h('legend', {}, title),
    choices.map(([, label], index) => h('label', { className: 'check' }, boxes[index], label)),
    schema.description && h('small', { className: 'faint' }, schema.description));
  return {
    element,
    read() {
      const values = choices.filter((_, index) => boxes[index].checked).map(([value]) => value);
      if (values.length < (schema.minItems ?? 0)) throw new Error(`${title}: choose at least ${schema.minItems}`);
      if (values.length > (schema.maxItems ?? Infinity)) throw new Error(`${title}: choose at most ${schema.maxItems}`);
      return values.length ? values : undefined;
    },
  };
}

/** Whatever has no field of its own is written as JSON. */
function json(title, schema, required, start) {
  const input = h('textarea', { required, spellcheck: 'false', value: start === undefined || start === null ? '' : JSON.stringify(start, null, 2) });
  const shape = h('details', {}, h('summary', {}, 'Schema'), pre(schema));
  return {
    element: h('div', {}, labelled(`${title}, as JSON`, schema, required, input), shape),
    read() {
      if (input.value.trim() === '') return undefined;
      try {
        return JSON.parse(input.value);
      } catch (wrong) {
        throw new Error(`${title}: ${wrong.message}`);
      }
    },
  };
}

/** The same value as one text, for those who have it already. */
export function asJson(start, { submit, done }) {
  const { element, read } = json('Arguments', { description: 'The whole object' }, false, start);
  const problem = h('p', { className: 'wrong', role: 'alert' });
  const go = () => {
    try {
      done(read() ?? {});
    } catch (wrong) {
      problem.textContent = wrong.message;
    }
  };
  return h('div', {}, element, problem, button(submit, go, 'main'));
}
