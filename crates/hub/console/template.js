/** Addresses with places to be filled in, as RFC 6570 writes them. */

const PLACE = /\{([+#./;?&]?)([^{}]*)\}/g;

/** How each kind of place begins, what stands between its values, and whether they are named; reserved characters stay as they are in some. */
const KINDS = {
  '': { first: '', between: ',' }, '+': { first: '', between: ',', reserved: true }, '#': { first: '#', between: ',', reserved: true },
  '.': { first: '.', between: '.' }, '/': { first: '/', between: '/' }, ';': { first: ';', between: ';', named: true },
  '?': { first: '?', between: '&', named: true }, '&': { first: '&', between: '&', named: true },
};

const names = (list) => list.split(',').map((each) => each.replace(/(\*|:\d+)$/, '').trim()).filter(Boolean);

/** The variables of a template, each once, in order. */
export const variables = (template) => [...new Set([...template.matchAll(PLACE)].flatMap(([, , list]) => names(list)))];

/** The address that values make of it. What has no value leaves nothing behind. */
export function expand(template, values) {
  return template.replace(PLACE, (_whole, kind, list) => {
    const { first, between, named, reserved } = KINDS[kind];
    const filled = names(list).filter((name) => values[name] !== undefined && values[name] !== '').map((name) => {
      const value = reserved ? encodeURI(values[name]).replace(/%25([0-9a-f]{2})/gi, '%$1') : encodeURIComponent(values[name]);
      return named ? `${name}=${value}` : value;
    });
    return filled.length ? first + filled.join(between) : '';
  });
}
