// Somebody at the console, in a real browser. Reads what to do from standard input, one JSON object a line, and answers
// each with one: {"ok": …} or {"error": "…"}.
//
//   node console.mjs URL [CODE]
//
// CODE is the one-time code with which a person of `serve` signs the browser in.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';

import { appSteps } from './console-apps.mjs';

const PATIENCE = 30_000;
const peers = process.env.SWITCHBOARD_PEERS;
const { chromium } = createRequire(`${peers}/npm-oidc/package.json`)('playwright-core');
const axe = readFileSync(`${peers}/npm-console/node_modules/axe-core/axe.min.js`, 'utf8');

const [url, code] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], timeout: 30_000 });
const context = await browser.newContext({ viewport: { width: 1100, height: 720 }, colorScheme: 'light', timezoneId: 'Europe/Berlin' });
const page = await context.newPage();
page.setDefaultTimeout(PATIENCE);

// What the browser complains about, and what it asks for elsewhere.
const complaints = [];
function watch(tab) {
  tab.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  tab.on('pageerror', (error) => complaints.push(String(error)));
  tab.on('request', (request) => { if (!isOurs(request.url())) complaints.push(`asked for ${request.url()}`); });
}
/** What the console may ask for: its own files, and the frames of apps. */
const isOurs = (address) => address.startsWith(new URL(url).origin) || address.startsWith('data:') || /^http:\/\/localhost:\d+\/\?frame=[\w-]+$/.test(address);
watch(page);

await page.goto(url);
if (code) {
  await page.fill('input[name=code]', code);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}
await page.getByText('live', { exact: true }).waitFor();

/** Goes to a view. Where the window is narrow, the navigation is behind a button. */
async function view(name) {
  const menu = page.getByRole('button', { name: 'Menu', exact: true });
  if (await menu.isVisible() && await menu.getAttribute('aria-expanded') === 'false') await menu.click();
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}
const top = () => page.locator('dialog[open]').last();
const press = (name) => top().getByRole('button', { name, exact: true }).click();
const close = async () => { while (await page.locator('dialog[open]').count()) await press('Close'); };

/** The row of a server. The commands of others may have its name in them. */
const serverRow = (server) => page.locator(`a.row[data-key$=" ${server}"]`);

async function openServer(server) {
  await view('Servers');
  await serverRow(server).click();
}

/** Signs in at the provider's page that the open window leads to. */
async function atProvider() {
  const [other] = await Promise.all([context.waitForEvent('page'), top().getByRole('button', { name: /^Open / }).click()]);
  await other.fill('input[name=login]', 'ada');
  await other.fill('input[name=password]', 'any');
  await other.click('button[type=submit]');
  await other.click('text=Continue');
  await other.waitForURL(/\/callback/);
  await other.close();
  await close();
}

/** Opens a part of a server. */
async function openPart(server, part) {
  await openServer(server);
  await top().getByRole('link', { name: part, exact: true }).click();
}

/** Opens the first item that shows these words: items from before they were typed may still be there. A tool has them in its title, since descriptions hold many words. */
async function openItem(kind, words) {
  await view(kind);
  await page.getByRole('searchbox').fill(words);
  const items = page.getByRole('listitem');
  const found = kind === 'Tools' ? items.filter({ has: page.locator('strong', { hasText: words }) }) : items.filter({ hasText: words });
  await found.first().getByRole('link').click();
}

/** Opens the first call that has these words. What was shown before they were typed may still be there when they are. */
async function openCall(words) {
  await view('Calls');
  await page.getByRole('searchbox').fill(words);
  const found = words.split(' ').reduce((items, hasText) => items.filter({ hasText }), page.getByRole('listitem'));
  await found.first().getByRole('link').click();
}

async function fill(where, fields) {
  for (const [label, value] of Object.entries(fields)) {
    const field = where.getByLabel(label);
    if (typeof value === 'boolean') await field.setChecked(value);
    else if ((await field.evaluate((element) => element.tagName)) === 'SELECT') await field.selectOption({ label: value });
    else await field.fill(String(value));
  }
}

/** Waits for a window to be where it is going: while it slides in, its colours are not the ones it will have. */
const settled = () => page.evaluate(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)));

/** Accessibility of the window that is open. */
async function soundWindow() {
  await settled();
  await page.evaluate(axe);
  // Frames hold the pages of others.
  const { violations } = await page.evaluate(() => window.axe.run([...document.querySelectorAll('dialog[open]')].pop(), { resultTypes: ['violations'], iframes: false }));
  if (violations.length) throw new Error(violations.map(({ id, nodes }) => `${id} at ${nodes[0].html}`).join('\n'));
}

/** Accessibility of the whole page. */
async function soundPage() {
  await settled();
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  if (violations.length) throw new Error(violations.map(({ id, nodes }) => `${id} at ${nodes[0].html}`).join('\n'));
}

const steps = {
  async add({ what, name, scope }) {
    await view('Servers');
    await page.getByRole('button', { name: 'Add a server' }).click();
    await fill(top(), { 'An address, a command': what, ...(name ? { Name: name } : {}) });
    if (scope) await top().getByLabel('Applies to').selectOption(scope);
    await press('Add');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
  },

  async state({ server, is }) {
    await view('Servers');
    await serverRow(server).filter({ hasText: is }).waitFor();
  },

  /** Everything that the windows say in which things that await approval are reviewed, one window after another. */
  async reviews({ count }) {
    await view('Problems');
    const buttons = page.getByRole('button', { name: 'Review and approve', exact: true });
    await buttons.nth(count - 1).waitFor();
    const texts = [];
    for (let index = 0; index < count; index += 1) {
      await buttons.nth(index).click();
      texts.push(await top().innerText());
      await close();
    }
    return texts.join('\n');
  },

  async approve({ server, shows }) {
    await openServer(server);
    await press('Review and approve');
    await top().getByText(shows).first().waitFor();
    await press('Approve');
    await page.waitForFunction(() => document.querySelectorAll('dialog[open]').length < 2);
    await close();
  },

  /** Signs in at the provider's own pages, in a window of their own. */
  async signIn({ server }) {
    await openServer(server);
    await press('Sign in');
    await atProvider();
  },

  async signInAtAccounts({ server }) {
    await view('Accounts');
    await page.getByRole('button', { name: `Sign in to ${server}` }).click();
    await atProvider();
  },

  /** The row of an account. */
  async account({ server, shows }) {
    await view('Accounts');
    let row = page.getByRole('table', { name: 'Accounts' }).getByRole('row').filter({ hasText: server });
    for (const each of shows) row = row.filter({ hasText: each });
    await row.waitFor();
  },

  async signOutAtAccounts({ server }) {
    await view('Accounts');
    await page.getByRole('button', { name: `Sign you out of ${server}` }).click();
    await press('Sign out');
    await page.getByText(`Signed out of ${server}.`).waitFor();
    await page.getByText('No one is signed in to a server.').waitFor();
    await page.getByRole('button', { name: `Sign in to ${server}` }).waitFor();
  },

  async signOut({ server }) {
    await openServer(server);
    await press('Sign out');
    await page.getByText(`Signed out of ${server}.`).waitFor();
    await close();
  },

  /** What the window of a server says of it. */
  async facts({ server, shows }) {
    await openServer(server);
    for (const each of shows) await top().getByText(each).first().waitFor();
    await soundWindow();
    await close();
  },

  /** What runs for a server, and how much memory that has. */
  async processes({ server, shows }) {
    await openPart(server, 'Processes');
    const row = top().getByRole('table', { name: 'Processes' }).getByRole('row').filter({ hasText: shows }).first();
    await row.filter({ hasText: /MiB|KiB/ }).waitFor();
    await soundWindow();
    await close();
  },

  /** The skills of a server: those that are shown, and those that are left out. */
  async skills({ server, shows, leavesOut }) {
    await openPart(server, 'Skills');
    const table = top().getByRole('table', { name: 'Skills' });
    for (const each of shows) await table.getByRole('row').filter({ hasText: each }).first().waitFor();
    await top().getByText(`${leavesOut} is left out`).waitFor();
    await soundWindow();
    await close();
  },

  async server({ server, button }) {
    await openServer(server);
    await press(button);
    await close();
  },

  async edit({ server, from, to }) {
    await openPart(server, 'Entry');
    const entry = top().getByRole('textbox', { name: 'Entry' });
    await entry.fill((await entry.inputValue()).replace(from, to));
    await top().locator('.diff ins').first().waitFor();
    await soundWindow();
    await press('Save');
    await page.getByText(`${server} is changed.`).waitFor();
    await close();
  },

  /** What a server wrote, with times of the reader's place. */
  async log({ server, shows }) {
    await openPart(server, 'Log');
    const written = top().getByRole('log').filter({ hasText: shows });
    await written.waitFor();
    const time = (await written.innerText()).slice(0, '2026-11-19 20:30:12.084'.length);
    // A time without a zone is one of the reader's.
    if (!await page.evaluate((local) => Math.abs(Date.now() - new Date(local)) < 900_000, time)) throw new Error(`${time} is no time of here and now`);
    await close();
  },

  async remove({ server }) {
    await openServer(server);
    await press('Remove');
    await press('Remove it');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    await page.getByRole('listitem').filter({ hasText: server }).waitFor({ state: 'detached' });
  },

  /** Calls a tool; with `progress` it has to be seen on the way. */
  async call({ tool, fields = {}, progress, shows }) {
    await openItem('Tools', tool);
    await fill(top().locator('form').first(), fields);
    if (progress) {
      await page.evaluate(() => {
        window.seen = [];
        new MutationObserver(() => window.seen.push(document.querySelector('dialog progress + p')?.textContent ?? ''))
          .observe(document.querySelector('dialog'), { subtree: true, childList: true, characterData: true });
      });
    }
    await press('Call');
    await top().getByText(shows).last().waitFor();
    if (progress && !(await page.evaluate(() => window.seen)).some((text) => text.includes(progress))) throw new Error('no progress was seen');
    await close();
  },

  /** Calls a tool; the texts and the sizes of the pictures in its result. */
  async result({ tool, fields = {} }) {
    await openItem('Tools', tool);
    await fill(top().locator('form').first(), fields);
    await press('Call');
    const result = top().getByRole('region', { name: 'Result' });
    await result.getByText('Done in').waitFor();
    await settled();
    const shown = await result.evaluate((element) => ({
      texts: [...element.querySelectorAll('pre')].map(({ textContent }) => textContent),
      pictures: [...element.querySelectorAll('img')].map((image) => { const { width, height } = image.getBoundingClientRect(); return [width, height]; }),
    }));
    await close();
    return shown;
  },

  async prompt({ prompt, fields, offers, shows }) {
    await openItem('Prompts', prompt);
    await fill(top(), fields);
    await top().locator(`datalist option[value="${offers}"]`).first().waitFor({ state: 'attached' });
    await press('Fill in');
    await top().getByText(shows).waitFor();
    await close();
  },

  async read({ resource, shows }) {
    await openItem('Resources', resource);
    await press('Read');
    await top().getByText(shows).waitFor();
    await close();
  },

  /** Fills a template in, with what the server offers while somebody types. */
  async template({ resource, field, value, offers, reads, shows }) {
    await openItem('Resources', resource);
    const input = top().getByLabel(field);
    await input.fill(value);
    await top().locator(`datalist option[value="${offers}"]`).waitFor({ state: 'attached' });
    await top().getByText(reads, { exact: true }).waitFor();
    await soundWindow();
    await press('Read');
    await top().getByText(shows).last().waitFor();
    await close();
  },

  /** Opens a call that was made, sees what it said, and makes it again. */
  async repeat({ filter, request, result, again = result }) {
    await openCall(filter);
    await top().getByRole('heading', { name: 'Request', exact: true }).waitFor();
    await top().getByRole('heading', { name: 'Where the time went' }).waitFor();
    await top().getByText(request).first().waitFor();
    await top().getByText(result).first().waitFor();
    await soundWindow();
    await press('Run again');
    await top().getByText('Done in').waitFor();
    await top().getByText(again).last().waitFor();
    await close();
  },

  /** The same with something else in it. */
  async change({ filter, fields, shows }) {
    await openCall(filter);
    await press('Change and run again');
    await fill(top().locator('form').first(), fields);
    await press('Call');
    await top().getByText(shows).last().waitFor();
    await close();
  },

  /** More tabs than a browser opens connections: all load, and all see what happens, also when the one that reads for them goes. */
  async tabs({ count, server, button, is }) {
    const others = [];
    for (let index = 0; index < count; index++) {
      const other = await context.newPage();
      other.setDefaultTimeout(PATIENCE);
      watch(other);
      await other.goto(`${new URL(url).origin}/#/servers`);
      others.push(other);
    }
    const sees = (tab, state) => tab.getByRole('listitem').filter({ hasText: server }).filter({ hasText: state }).waitFor();
    for (const other of others) {
      await other.getByText('live', { exact: true }).waitFor();
      await sees(other, 'connected');
    }
    await page.reload();
    await page.getByText('live', { exact: true }).waitFor();
    await steps.server({ server, button });
    for (const tab of [page, ...others]) await sees(tab, is);
    for (const other of others) await other.close();
  },

  /** Asks to be told of questions; from then on it is written down what would have been told. */
  async notify() {
    await context.grantPermissions(['notifications']);
    const element = page.getByRole('button', { name: 'Notify me' });
    if (await element.getAttribute('aria-pressed') !== 'false') throw new Error('somebody is told who did not ask for it');
    await page.evaluate(() => {
      window.told = [];
      window.Notification = class extends EventTarget {
        static permission = 'default';
        static async requestPermission() { return (this.permission = 'granted'); }
        constructor(title, options) { super(); window.told.push(`${title}: ${options.body}`); }
        close() {}
      };
      Object.defineProperty(document, 'hidden', { get: () => true });
    });
    await element.click();
    await page.locator('button[aria-pressed=true]').waitFor();
  },

  async notified() {
    return page.evaluate(() => window.told);
  },

  /** Waits for a question and presses a button of it. A tab that the button opens is closed: behind it, Chromium draws nothing of the console and clicks wait. */
  async answer({ shows, by, fields = {}, button }) {
    await view('Questions');
    const card = page.locator('article').filter({ hasText: shows });
    if (by) await card.locator('dd').getByText(by, { exact: true }).waitFor();
    await card.waitFor();
    await fill(card, fields);
    const opened = button.startsWith('Open ') ? context.waitForEvent('page') : undefined;
    await card.getByRole('button', { name: button, exact: true }).click();
    await (await opened)?.close();
    await card.waitFor({ state: 'detached' });
  },

  async answerable({ shows }) {
    await view('Questions');
    await page.locator('article').filter({ hasText: shows }).waitFor();
  },

  /** Waits until so many calls run. */
  async running({ calls }) {
    await view('Clients');
    await page.getByRole('table', { name: 'Connected clients' }).getByRole('cell', { name: String(calls), exact: true }).waitFor();
  },

  /** A remembered answer is taken back. */
  async forget({ shows }) {
    await view('Permissions');
    const row = page.locator('tr[data-answer]').filter({ hasText: shows });
    await row.getByRole('button', { name: /^Forget/ }).click();
    await row.waitFor({ state: 'detached' });
  },

  /** A rule is added, or refused with a reason. */
  async addRule({ decision, tools, scope, refused }) {
    await view('Permissions');
    const form = page.getByRole('form', { name: 'Add a rule' });
    await fill(form, { Decision: decision, Tools: tools, 'Applies to': scope });
    await form.getByRole('button', { name: 'Add the rule', exact: true }).click();
    if (refused) await form.getByRole('alert').filter({ hasText: refused }).waitFor();
    else await page.locator(`tr[data-rule="${decision.toLowerCase()} ${tools}"]`).waitFor();
  },

  async removeRule({ rule }) {
    await view('Permissions');
    await page.getByRole('button', { name: `Remove the rule ${rule}`, exact: true }).click();
    await page.locator(`tr[data-rule="${rule}"]`).waitFor({ state: 'detached' });
  },

  /** Asks what would happen to a call, of another principal if one is given. */
  async tryCall({ tool, principal, groups, shows }) {
    await view('Permissions');
    const form = page.getByRole('form', { name: 'Try a call' });
    // A decision that is shown already has a table of rules about the tool.
    await form.getByLabel('Tool', { exact: true }).fill(tool);
    if (principal) {
      if (!(await form.getByLabel('Principal').isVisible())) await form.getByText('For another user').click();
      await fill(form, { Principal: principal, 'Groups, with commas between': groups ?? '' });
    }
    await form.getByRole('button', { name: 'Try', exact: true }).click();
    await form.getByRole('status').filter({ hasText: shows }).waitFor();
  },

  /** Switches a tool on or off, and waits for what its line says then. */
  async switchTool({ server, tool, shows }) {
    await openPart(server, 'Tools');
    const line = top().getByRole('listitem').filter({ has: page.getByRole('switch', { name: `${tool}: on`, exact: true }) });
    await line.getByRole('switch').click();
    await line.filter({ hasText: shows }).waitFor();
    await close();
  },

  /** A form that is not as its schema wants it is not sent. */
  async refused({ shows, fields, button }) {
    await view('Questions');
    const card = page.locator('article').filter({ hasText: shows });
    await card.waitFor();
    await fill(card, fields);
    await card.getByRole('button', { name: button, exact: true }).click();
    if (!(await card.evaluate((element) => element.querySelector(':invalid') !== null))) throw new Error('the form was taken');
  },

  async activity({ filter, shows }) {
    await openCall(filter);
    await top().getByText(shows).first().waitFor();
    await close();
  },

  async problem({ shows, button }) {
    await view('Problems');
    const card = page.locator('article').filter({ hasText: shows }).first();
    await card.waitFor();
    if (button) await card.getByRole('button', { name: button }).click();
  },

  async search({ kind, words, finds }) {
    await view(kind);
    const began = Date.now();
    await page.getByRole('searchbox').fill(words);
    await page.getByRole('status').filter({ hasText: finds }).waitFor();
    return { millis: Date.now() - began, rows: await page.getByRole('listitem').count() };
  },

  /** Goes through a list with the keyboard alone. */
  async keyboard({ kind }) {
    await view(kind);
    await page.getByRole('searchbox').focus();
    await page.keyboard.press('Tab');
    for (let tabs = 0; tabs < 8 && !(await page.evaluate(() => document.activeElement?.className === 'row')); tabs++) await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    if (!/^#\/servers\/./.test(await page.evaluate(() => location.hash))) throw new Error('what is open has no address');
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    // The search has the focus after `/`, `?` shows the keys, and `g` goes elsewhere.
    await page.locator('main').focus();
    await page.keyboard.press('/');
    if (!(await page.evaluate(() => document.activeElement?.getAttribute('type') === 'search'))) throw new Error('`/` does not search');
    await page.locator('main').focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await soundWindow();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
  },

  /** What is open has an address: it can be opened from there, and Back leaves it. Each of `views` is opened in a fresh tab, where it never says that there is nothing. */
  async addresses({ server, views }) {
    for (const { view: name, shows, never } of views) {
      const fresh = await context.newPage();
      watch(fresh);
      await fresh.addInitScript((words) => {
        window.isWrong = false;
        new MutationObserver(() => { if (document.getElementById('main')?.textContent.includes(words)) window.isWrong = true; }).observe(document, { subtree: true, childList: true });
      }, never);
      await fresh.goto(`${new URL(url).origin}/#/${name}`);
      await fresh.locator('main').getByText(shows).first().waitFor().catch(() => { throw new Error(`#/${name} does not show ${shows}`); });
      if (await fresh.evaluate(() => window.isWrong)) throw new Error(`#/${name} said: ${never}`);
      await fresh.close();
    }
    await openServer(server);
    const address = await page.evaluate(() => location.href);
    await page.goBack();
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    const other = await context.newPage();
    watch(other);
    await other.goto(`${address}/log`);
    await other.getByRole('dialog', { name: server }).getByRole('link', { name: 'Log' }).and(other.locator('[aria-current=page]')).waitFor();
    await other.getByRole('button', { name: 'Close', exact: true }).click();
    await other.getByRole('heading', { level: 1, name: 'Servers' }).waitFor();
    if (await other.evaluate(() => location.hash) !== '#/servers') throw new Error('closing a window does not lead to its view');
    await other.locator('a.row').first().waitFor();
    // A filter stands in the address, too: as soon as the list shows it, also where new data had the list drawn.
    const written = await other.getByRole('searchbox').evaluate(async (field) => {
      field.focus();
      field.value = 'nothing like it';
      field.dispatchEvent(new Event('input'));
      const main = document.getElementById('main');
      const drawn = new Promise((resolve) => { new MutationObserver(() => main.textContent.includes('No server matches.') && resolve()).observe(main, { subtree: true, childList: true }); });
      window.dispatchEvent(new Event('hashchange'));
      await drawn;
      return location.hash;
    });
    if (!written.includes('q=nothing')) throw new Error(`the list is filtered and the address is ${written}`);
    await other.reload();
    await other.getByText('No server matches.').waitFor();
    await other.close();
  },

  /** Opens everything that a hostile server offers; whatever was run would have left a mark. */
  async hostile({ server }) {
    await steps.log({ server, shows: 'onerror' });
    await steps.processes({ server, shows: '<img onerror=x>' });
    for (const kind of ['Tools', 'Prompts', 'Resources']) {
      await view(kind);
      await page.getByRole('searchbox').fill(server);
      const rows = page.getByRole('listitem');
      await rows.first().waitFor();
      for (let index = 0; index < await rows.count(); index++) {
        await rows.nth(index).getByRole('link').click();
        await top().getByRole('button', { name: /^(Call|Fill in|Read)$/ }).first().click();
        await top().getByText(/Done in|onerror/).last().waitFor();
        const cancel = top().getByRole('button', { name: 'Cancel', exact: true });
        await page.waitForTimeout(100);
        if (await cancel.count()) await cancel.click();
        await close();
      }
    }
    await view('Calls');
    for (const words of ['tools/call', 'prompts/get', 'resources/read']) {
      await page.getByRole('searchbox').fill(`${words} ok`);
      await page.getByRole('listitem').first().getByRole('link').click();
      await top().getByRole('heading', { name: 'Request', exact: true }).waitFor();
      await top().getByText('onerror').last().waitFor();
      await press('Show raw messages');
      await top().getByRole('heading', { name: 'Raw request' }).waitFor();
      await close();
    }
    for (const name of ['Servers', 'Questions', 'Calls', 'Problems']) await view(name);
    const hit = await page.evaluate(() => window.hit ?? null);
    const links = await page.evaluate(() => [...document.querySelectorAll('[href^="javascript"], [onerror], [onload]')].length);
    if (hit || links) throw new Error(`text was run: ${hit}, ${links} elements`);
  },

  /** The views that a person of `serve` has, and what they show. */
  async has({ views, shows }) {
    const links = page.getByRole('navigation', { name: 'Views' }).getByRole('link');
    const names = (await links.allTextContents()).map((name) => name.replace(/\d+$/, '').trim());
    if (names.join() !== views.join()) throw new Error(`the views are ${names.join()}`);
    for (const [name, texts] of Object.entries(shows)) {
      await view(name);
      for (const text of texts) await page.getByRole('main').getByText(text).first().waitFor();
    }
  },

  /** Texts that are in no view. */
  async hasNot({ views, texts }) {
    for (const name of views) {
      await view(name);
      for (const text of texts) if (await page.getByRole('main').getByText(text).count()) throw new Error(`${name} shows ${text}`);
    }
  },

  async leavesConsole() {
    await page.getByRole('button', { name: 'Sign out', exact: true }).last().click();
    await page.getByRole('heading', { name: 'Whose browser is this?' }).waitFor();
  },

  /** Every view and every drawer at every width, in both schemes: nothing is cut off, and axe finds nothing. */
  async everywhere({ views, widths, drawers = [] }) {
    const found = [];
    // Boxes that never scroll sideways. A list or a table may.
    const tooWide = () => page.evaluate(() => [document.documentElement, ...document.querySelectorAll('main, .card, dialog[open], dialog[open] > .body')]
      .map((each) => [each.className || each.localName, each.scrollWidth - each.clientWidth]).filter(([, more]) => more > 1).map(([box, more]) => `${box} is ${more} pixels too wide`));
    await page.evaluate(axe);
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        for (const name of views) {
          await view(name);
          found.push(...(await tooWide()).map((box) => `${scheme} ${name} at ${width}: ${box}`));
          const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
          found.push(...violations.map(({ id, nodes }) => `${scheme} ${name} at ${width}: ${id} at ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`));
        }
        for (const [address, shows] of drawers) {
          await page.evaluate((hash) => { location.hash = hash; }, address);
          if (address === '#/calls') await page.getByRole('listitem').first().getByRole('link').click();
          await top().getByText(shows).first().waitFor().catch(() => { throw new Error(`${address} does not show ${shows}`); });
          found.push(...(await tooWide()).map((box) => `${scheme} ${address} at ${width}: ${box}`));
          await soundWindow().catch((error) => found.push(`${scheme} ${address} at ${width}: ${error.message}`));
          await close();
          await page.waitForFunction(() => /^#\/\w+$/.test(location.hash));
        }
      }
    }
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
    await page.setViewportSize({ width: 1100, height: 720 });
    if (found.length) throw new Error(found.join('\n'));
  },

  /** Accessibility of every part of a server, and of the windows of its page, in both schemes. */
  async accessibleWindows({ server }) {
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      for (const part of ['State', 'Tools', 'Log', 'Processes', 'Entry', 'Skills']) {
        await openPart(server, part);
        await soundWindow();
        await close();
      }
      for (const name of ['Add a server', 'Import']) {
        await view('Servers');
        await page.getByRole('button', { name, exact: true }).click();
        await page.locator('dialog[open]').waitFor();
        await soundWindow();
        await close();
      }
    }
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
  },

  /** What the overview says: the diagram with client and server, and the numbers of the hour. */
  async overview({ client, server, calls, failing }) {
    await view('Overview');
    const picture = page.locator('.diagram');
    await picture.getByRole('link', { name: new RegExp(`^${client}`) }).waitFor();
    const node = picture.getByRole('link', { name: new RegExp(`^${server}.*${calls}`) });
    await node.waitFor();
    await picture.locator('path.wire.error').first().waitFor({ state: 'attached' });
    await page.getByRole('region', { name: 'Most failing tools' }).getByRole('row').filter({ hasText: failing }).waitFor();
    await page.getByRole('region', { name: 'Slowest tools' }).getByRole('row').filter({ hasText: failing }).waitFor();
    await page.getByRole('region', { name: 'Latency' }).getByText('p95', { exact: true }).waitFor();
    await node.click();
    await page.getByRole('dialog', { name: server }).waitFor();
    await close();
  },

  /** A page without servers says what can be done. */
  async starts({ imports }) {
    await view('Overview');
    await page.getByRole('button', { name: 'Look for servers' }).click();
    await top().getByLabel(imports, { exact: true }).waitFor();
    await soundWindow();
    await press('Import');
    await page.getByText('Imported 1 server.').waitFor();
  },

  /** Installs Switchboard in a client of this machine, and takes it out again. */
  async install({ client, file }) {
    await view('Clients');
    await page.getByRole('button', { name: `Install in ${client}` }).click();
    await top().getByText(file).first().waitFor();
    await soundWindow();
    await press('Install');
    await page.getByRole('button', { name: `Uninstall from ${client}` }).click();
    await press('Uninstall');
    await page.getByRole('button', { name: `Install in ${client}` }).waitFor();
  },

  /** A connected client is shown with what it called, and can be disconnected. */
  async disconnect({ client, called }) {
    await view('Clients');
    const row = page.getByRole('table', { name: 'Connected clients' }).getByRole('row').filter({ hasText: client });
    await row.filter({ hasText: called }).waitFor();
    await row.getByRole('button', { name: /^Disconnect/ }).click();
    await soundWindow();
    await press('Disconnect');
    await row.waitFor({ state: 'detached' });
  },

  /** What a client declares beyond the protocol, what it agrees on with servers, and what does not pass. */
  async clientExtensions({ client, shows }) {
    await view('Clients');
    const row = page.getByRole('table', { name: 'Extensions of clients' }).getByRole('row').filter({ hasText: client });
    for (const each of shows) await row.getByText(each).first().waitFor();
    await soundPage();
  },

  /** A call as text: its command, its raw messages. */
  async raw({ filter, request, command }) {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openCall(filter);
    await press('Show raw messages');
    await top().getByText(request).last().waitFor();
    await press('Copy as command');
    await page.getByText('Command copied.').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    if (copied !== command) throw new Error(`copied: ${copied}`);
    await close();
  },

  /** A new address, pasted into the tab that is open: it leads to the console, and nobody finds it in the history. */
  async pasted() {
    const { url: invited } = await page.evaluate(() => fetch('/api/v1/console', { method: 'POST', headers: { 'x-switchboard-pass': localStorage.getItem('switchboard-pass') } }).then((response) => response.json()));
    await page.evaluate(() => localStorage.removeItem('switchboard-pass'));
    await page.evaluate((hash) => { location.hash = hash; }, new URL(invited).hash);
    await page.waitForFunction(() => localStorage.getItem('switchboard-pass') && location.hash === '#/overview');
    await page.getByText('live', { exact: true }).waitFor();
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('401')));
  },

  /** Opens a server, and leaves it open. */
  async open({ server }) {
    await openServer(server);
    await top().getByRole('button', { name: 'Disable', exact: true }).waitFor();
  },

  /** The hub says that it ends, and the page shows it, in a window too. */
  async ended() {
    await page.getByText('hub ended', { exact: true }).waitFor();
    const isOpen = await page.locator('dialog[open]').count() > 0;
    const alert = (isOpen ? top() : page).getByRole('alert').filter({ hasText: 'The hub has ended' });
    await alert.locator('code', { hasText: 'switchboard console' }).waitFor();
    if (isOpen && !(await top().locator('.body').evaluate((body) => body.inert && getComputedStyle(body).filter.includes('grayscale')))) throw new Error('the window can still be used');
    const isOverlaid = await page.evaluate(() => {
      const [name, state] = ['.brand', '#link'].map((each) => { const range = document.createRange(); range.selectNodeContents(document.querySelector(each)); return range.getBoundingClientRect(); });
      return name.right > state.left && name.bottom > state.top;
    });
    if (isOverlaid) throw new Error('the state of the connection lies over the name');
    await soundPage();
  },

  /** The hub is there again, and the page goes on without a new address. */
  async returned() {
    await page.getByText('live', { exact: true }).waitFor();
    if (await page.locator('body.is-stale, dialog > .body[inert]').count()) throw new Error('the page is still grey');
    await close();
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(text)));
  },

  async picture({ path, view: name, tool, call, server, part, dark, width = 1440, height = 900 }) {
    await page.setViewportSize({ width, height });
    if (dark) await page.emulateMedia({ colorScheme: 'dark' });
    if (tool) await openItem('Tools', tool);
    else if (call) await openCall(call);
    else if (server) await openPart(server, part);
    else await view(name);
    await page.waitForTimeout(500);
    await page.evaluate(() => document.getElementById('notices').replaceChildren());
    // The folder of a test has a new name each time.
    await page.evaluate(() => {
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) walk.currentNode.data = walk.currentNode.data.replace(/\/tmp\/\.tmp[^/\s]*/g, '/home/ada').replace(/\/[^\s'"]*\/target\/debug\//g, '/usr/bin/');
    });
    await page.screenshot({ path, animations: 'disabled' });
    await close();
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1100, height: 720 });
  },

  /** What another page, and one that lost its pass, get. */
  async strangers() {
    const origin = new URL(url).origin;
    const status = await page.evaluate(() => fetch('/api/v1/status').then((response) => response.status));
    if (status !== 401) throw new Error(`the cookie alone opens it: ${status}`);
    // Another browser is not let in with a used link; this one is in already.
    const stranger = await browser.newContext();
    const other = await stranger.newPage();
    await other.goto(url);
    await other.getByText('has been used').waitFor();
    await stranger.close();
    const own = await context.newPage();
    await own.goto(url);
    await own.getByText('live', { exact: true }).waitFor();
    await own.close();
    const cookies = await context.cookies(`${origin}/api/v1/`);
    if (!cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Strict') || !cookies.length) throw new Error(JSON.stringify(cookies));
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('401')));
  },

  async complaints() {
    return complaints;
  },

  ...appSteps({ page, context, top, press, close, openItem, fill, view, soundWindow, origin: new URL(url).origin }),
};

console.log(JSON.stringify({ ok: 'open' }));
for await (const line of createInterface({ input: process.stdin })) {
  const { do: step, ...rest } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ ok: (await steps[step](rest)) ?? null }));
  } catch (error) {
    const shown = await page.locator('body').innerText().catch(() => '');
    console.log(JSON.stringify({ error: `${step}: ${error.message}\n--- complaints\n${complaints.join('\n')}\n--- page\n${shown.slice(0, 3000)}` }));
  }
}
setTimeout(() => process.exit(1), 10_000).unref();
await browser.close();
