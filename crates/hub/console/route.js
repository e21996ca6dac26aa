/**
 * Addresses of the console: `#/view/item/part?filter=…`. Everything that can be looked at has one, so that it can be
 * linked and bookmarked and Back works. Reads and writes the address only; `app.js` shows what it names.
 */

/** @typedef {{ view: string, item?: string, part?: string, query: URLSearchParams }} Route */

/** @returns {Route} */
export function route(hash = location.hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  const [view = '', item, part] = path.split('/').map(decoded);
  return { view, item: item || undefined, part: part || undefined, query: new URLSearchParams(query) };
}

/** A hand-written address may hold a lone per cent sign. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view, of an item in it, or of a part of that item. */
export function to(view, item = undefined, part = undefined, filter = {}) {
  const path = [view, item, part].filter((each) => each !== undefined).map(encodeURIComponent).join('/');
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value)).toString();
  return `#/${path}${query ? `?${query}` : ''}`;
}

/** The address that this page went to last. Leaving its item goes back, so that Back does not open the item again. */
let gone = '';
/** How many steps of the history belong to that item: one to open it, and one for each part. */
let steps = 0;

export function go(address) {
  followed(address);
  location.hash = address;
}

/** Notes that a link of this page is followed. */
export function followed(address) {
  if (address === location.hash) return;
  const [before, after] = [route(), route(address)];
  const isSameItem = gone === location.hash && before.view === after.view && before.item === after.item;
  steps = isSameItem ? steps + 1 : 1;
  gone = address;
}

/** Leaves an item for its view. */
export function leave(view) {
  if (gone === location.hash && history.length > steps) {
    gone = '';
    history.go(-steps);
  } else {
    location.replace(to(view));
  }
}

/** Writes the filter of a view into its address, without a step in the history. */
export function refine(filter) {
  const { view, item, part } = route();
  const address = to(view, item, part, filter);
  if (address !== location.hash) history.replaceState(null, '', address);
}
