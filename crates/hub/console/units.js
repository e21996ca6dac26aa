/** Numbers for people: with a unit, and with no more digits than they mean. */

const DIGITS = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

export const count = (number, one = '', many = `${one}s`) => `${DIGITS.format(number)}${one && ` ${number === 1 ? one : many}`}`;
export const short = (number) => (number < 10_000 ? DIGITS.format(number) : SHORT.format(number));

export function micros(value) {
  if (value === undefined) return '–';
  if (value < 1000) return `${Math.round(value)} µs`;
  if (value < 10_000) return `${(value / 1000).toFixed(1)} ms`;
  if (value < 1e6) return `${Math.round(value / 1000)} ms`;
  if (value < 60e6) return `${(value / 1e6).toFixed(1)} s`;
  const seconds = Math.round(value / 1e6);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export const millis = (value) => micros(value * 1000);

/** A share of a whole: 0 %, 0.3 %, 12 %. */
export function share(part, whole) {
  const percent = whole ? (100 * part) / whole : 0;
  return `${percent === 0 || percent >= 10 ? Math.round(percent) : percent.toFixed(1)} %`;
}

export const memory = (bytes) => (bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`);
export const size = (bytes) => (bytes < 1024 ? count(bytes, 'byte') : memory(bytes));

/** Times are those of the reader's place, with 24 hours: 19 Nov 2026, 20:30:12. */
export const moment = (at) => new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
export const clock = (at) => new Date(at).toLocaleTimeString('en-GB');
/** A time that a line of a log begins with, as the hub writes it: in columns, with its fraction of a second. */
export const stamp = (written) => `${new Date(written).toLocaleString('sv-SE')}${written.slice(19, -1)}`;
export const date = (at) => new Date(at).toLocaleDateString('en-GB', { dateStyle: 'medium' });

/** How long ago: at most two units. */
export function since(at, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - new Date(at).getTime()) / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}
