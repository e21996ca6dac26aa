/** Word of a question outside the page, for whoever wants it: off until somebody asks for it. */

import { button, h } from './dom.js';
import { permissionSentence } from './permission-words.js';

const KEPT = 'switchboard-notify';
const isOn = () => 'Notification' in window && Notification.permission === 'granted' && localStorage.getItem(KEPT) === 'on';

/** The switch for it; nothing where the browser has no such thing. */
export function notifySwitch() {
  if (!('Notification' in window)) return '';
  const element = button('Notify me', async () => {
    if (isOn()) localStorage.removeItem(KEPT);
    else if (await Notification.requestPermission() === 'granted') localStorage.setItem(KEPT, 'on');
    show();
  });
  const show = () => {
    element.setAttribute('aria-pressed', String(isOn()));
    element.title = Notification.permission === 'denied' ? 'The browser does not allow it here' : 'Tells you of questions while you are elsewhere';
  };
  show();
  return h('span', { className: 'notify' }, element);
}

/** Tells of a question, unless somebody looks at the page. The same question is told once, however many tabs hear of it. */
export function notify(question) {
  const { id, server, about } = question;
  if (!isOn() || !document.hidden) return;
  const what = about?.kind === 'permission' ? permissionSentence(question) : String(about?.params?.message ?? 'A question waits.');
  const told = new Notification(`${server} asks`, { body: what.slice(0, 200), tag: `switchboard-${id}` });
  told.addEventListener('click', () => { window.focus(); location.hash = '#/questions'; told.close(); });
}
