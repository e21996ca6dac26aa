/** Charts as plain SVG: bars of an hour, and stages of a call. No library: each is a row of rectangles. */

const SVG = 'http://www.w3.org/2000/svg';

/** An SVG element with attributes, children and text. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  element.append(...children.flat(Infinity).filter((each) => each !== undefined && each !== false));
  return element;
}

/**
 * Sixty bars of an hour; the part that failed is red.
 * @param {string} label what it says, for those who do not see it
 * @param {number[]} values
 * @param {number[]} [errors]
 */
export function spark(label, values, errors = []) {
  const most = Math.max(1, ...values);
  const height = (value) => (value ? Math.max(1, (28 * value) / most) : 0);
  return s('svg', { class: 'spark', viewBox: '0 0 60 30', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    s('line', { x1: 0, x2: 60, y1: 29.5, y2: 29.5, 'stroke-width': 1, 'vector-effect': 'non-scaling-stroke' }),
    values.map((value, index) => value > 0 && s('rect', { class: index === values.length - 1 ? 'now' : undefined, x: index + 0.1, width: 0.8, y: 29 - height(value), height: height(value) })),
    errors.map((value, index) => value > 0 && s('rect', { class: 'error', x: index + 0.1, width: 0.8, y: 29 - height(value), height: height(value) })));
}

/** One line of a waterfall: where in the whole a stage lies. */
export const stage = (start, length, whole, isPerson) => s('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
  s('rect', { class: 'track', width: 100, height: 10 }),
  s('rect', { class: isPerson ? 'stage person' : 'stage', x: Math.min(99.5, (100 * start) / whole), width: Math.max(0.5, (100 * length) / whole), height: 10 }));
