// Somebody at the console, in a real browser. Reads what to do from standard input, one JSON object a line, and answers
// each with one: {"ok": …} or {"error": "…"}.
//
//   node console.mjs URL

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';

const PATIENCE = 30_000;
const peers = process.env.SWITCHBOARD_PEERS;
const { chromium } = createRequire(`${peers}/npm-oidc/package.json`)('playwright-core');
const axe = readFileSync(`${peers}/npm-console/node_modules/axe-core/axe.min.js`, 'utf8');

const [url] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], timeout: 30_000 });
const context = await browser.newContext({ viewport: { width: 1100, height: 720 }, colorScheme: 'light' });
const page = await context.newPage();
page.setDefaultTimeout(PATIENCE);

// What the browser complains about, and what it asks for elsewhere.
const complaints = [];
function watch(tab) {
  tab.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
  tab.on('pageerror', (error) => complaints.push(String(error)));
  tab.on('request', (request) => { if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith('data:')) complaints.push(`asked for ${request.url()}`); });
}
watch(page);

await page.goto(url);
await page.getByText('live', { exact: true }).waitFor();

const view = (name) => page.getByRole('navigation').getByRole('link', { name }).click();
const top = () => page.locator('dialog[open]').last();
const press = (name) => top().getByRole('button', { name, exact: true }).click();
const close = async () => { while (await page.locator('dialog[open]').count()) await press('Close'); };

async function openServer(server) {
  await view('Servers');
  await page.getByRole('listitem').filter({ hasText: server }).getByRole('button').click();
}

/** Opens the first item that these words find. A tool has them in its title: lists come a moment after the state, and descriptions hold many words. */
async function openItem(kind, words) {
  await view(kind);
  await page.getByRole('searchbox').fill(words);
  const items = page.getByRole('listitem');
  const found = kind === 'Tools' ? items.filter({ has: page.locator('strong', { hasText: words }) }) : items;
  await found.first().getByRole('button').click();
}

/** Opens the first call that has these words. What was shown before they were typed may still be there when they are. */
async function openCall(words) {
  await view('Activity');
  await page.getByRole('searchbox').fill(words);
  const found = words.split(' ').reduce((items, hasText) => items.filter({ hasText }), page.getByRole('listitem'));
  await found.first().getByRole('button').click();
}

async function fill(where, fields) {
  for (const [label, value] of Object.entries(fields)) {
    const field = where.getByLabel(label);
    if (typeof value === 'boolean') await field.setChecked(value);
    else if ((await field.evaluate((element) => element.tagName)) === 'SELECT') await field.selectOption({ label: value });
    else await field.fill(String(value));
  }
}

/** Accessibility of the window that is open. */
async function soundWindow() {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run([...document.querySelectorAll('dialog[open]')].pop(), { resultTypes: ['violations'] }));
  if (violations.length) throw new Error(violations.map(({ id, nodes }) => `${id} at ${nodes[0].html}`).join('\n'));
}

const steps = {
  async add({ what, name, scope }) {
    await view('Servers');
    await page.getByRole('button', { name: 'Add a server' }).click();
    await fill(top(), { 'An address, a command': what, ...(name ? { Name: name } : {}) });
    if (scope) await top().getByLabel('Where it counts').selectOption(scope);
    await press('Add');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
  },

  async state({ server, is }) {
    await view('Servers');
    await page.getByRole('listitem').filter({ hasText: server }).filter({ hasText: is }).waitFor();
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
    const [other] = await Promise.all([context.waitForEvent('page'), top().getByRole('button', { name: /^Open / }).click()]);
    await other.fill('input[name=login]', 'ada');
    await other.fill('input[name=password]', 'any');
    await other.click('button[type=submit]');
    await other.click('text=Continue');
    await other.waitForURL(/\/callback/);
    await other.close();
    await close();
  },

  async signOut({ server }) {
    await openServer(server);
    await press('Sign out');
    await page.getByText(`Signed out of ${server}.`).waitFor();
    await close();
  },

  /** What runs for a server, and how much memory that has. */
  async processes({ server, shows }) {
    await openServer(server);
    const row = top().getByRole('table', { name: /^Processes/ }).getByRole('row').filter({ hasText: shows }).first();
    await row.filter({ hasText: /MiB|KiB/ }).waitFor();
    await soundWindow();
    await close();
  },

  async server({ server, button }) {
    await openServer(server);
    await press(button);
    await close();
  },

  async edit({ server, from, to }) {
    await openServer(server);
    await press('Show its entry');
    const entry = top().getByLabel('Entry');
    await entry.fill((await entry.inputValue()).replace(from, to));
    await press('Save');
    await page.getByText(`${server} is changed.`).waitFor();
    await close();
  },

  async log({ server, shows }) {
    await openServer(server);
    await press('Show its log');
    await top().getByText(shows).first().waitFor();
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
    await top().getByRole('heading', { name: 'Request' }).waitFor();
    await top().getByText(request).first().waitFor();
    await top().getByText(result).first().waitFor();
    await soundWindow();
    await press('Repeat');
    await top().getByText('Done in').waitFor();
    await top().getByText(again).last().waitFor();
    await close();
  },

  /** The same with something else in it. */
  async change({ filter, fields, shows }) {
    await openCall(filter);
    await press('Change and repeat');
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
      await other.goto(new URL(url).origin);
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
    await view('Queue');
    const card = page.locator('article').filter({ hasText: shows });
    if (by) await card.locator('dd').getByText(by, { exact: true }).waitFor();
    await card.waitFor();
    await fill(card, fields);
    const opened = button.startsWith('Open ') ? context.waitForEvent('page') : undefined;
    await card.getByRole('button', { name: button, exact: true }).click();
    await (await opened)?.close();
    await card.waitFor({ state: 'detached' });
  },

  /** A remembered answer is taken back. */
  async forget({ shows }) {
    await view('Queue');
    const row = page.getByRole('row').filter({ hasText: shows });
    await row.getByRole('button', { name: 'Forget', exact: true }).click();
    await row.waitFor({ state: 'detached' });
  },

  /** A form that is not as its schema wants it is not sent. */
  async refused({ shows, fields, button }) {
    await view('Queue');
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
    if (!(await page.evaluate(() => document.activeElement?.className === 'row'))) await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
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
        await rows.nth(index).getByRole('button').click();
        await top().getByRole('button', { name: /^(Call|Fill in|Read)$/ }).first().click();
        await top().getByText(/Done in|onerror/).last().waitFor();
        const cancel = top().getByRole('button', { name: 'Cancel', exact: true });
        await page.waitForTimeout(100);
        if (await cancel.count()) await cancel.click();
        await close();
      }
    }
    await view('Activity');
    for (const words of ['tools/call', 'prompts/get', 'resources/read']) {
      await page.getByRole('searchbox').fill(`${words} ok`);
      await page.getByRole('listitem').first().getByRole('button').click();
      await top().getByRole('heading', { name: 'Request' }).waitFor();
      await top().getByText('onerror').last().waitFor();
      await close();
    }
    for (const name of ['Servers', 'Queue', 'Activity', 'Problems']) await view(name);
    const hit = await page.evaluate(() => window.hit ?? null);
    const links = await page.evaluate(() => [...document.querySelectorAll('[href^="javascript"], [onerror], [onload]')].length);
    if (hit || links) throw new Error(`text was run: ${hit}, ${links} elements`);
  },

  /** Accessibility of the view that is shown, in both schemes. */
  async accessible({ views }) {
    const found = [];
    await page.evaluate(axe);
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const name of views) {
        await view(name);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        found.push(...violations.map(({ id, nodes }) => `${scheme} ${name}: ${id} at ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`));
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    if (found.length) throw new Error(found.join('\n'));
  },

  async accessibleWindow({ server }) {
    await openServer(server);
    await soundWindow();
    await close();
  },

  /** Nothing is cut off at the width of a phone. */
  async phone({ views }) {
    await page.setViewportSize({ width: 375, height: 700 });
    for (const name of views) {
      await view(name);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) throw new Error(`${name} is ${wide} pixels too wide`);
    }
    await page.setViewportSize({ width: 1100, height: 720 });
  },

  async picture({ path, view: name, tool, call, dark }) {
    if (dark) await page.emulateMedia({ colorScheme: 'dark' });
    if (tool) await openItem('Tools', tool);
    else if (call) await openItem('Activity', call);
    else await view(name);
    await page.waitForTimeout(200);
    // The folder of a test has a new name each time.
    await page.evaluate(() => {
      for (const each of document.querySelectorAll('dd')) if (each.textContent.startsWith('/tmp/')) each.textContent = each.textContent.replace(/^\/tmp\/[^/]+/, '/home/ada');
    });
    await page.screenshot({ path, animations: 'disabled' });
    await close();
    await page.emulateMedia({ colorScheme: 'light' });
  },

  /** What another page, and one that lost its pass, get. */
  async strangers() {
    const origin = new URL(url).origin;
    const status = await page.evaluate(() => fetch('/api/v1/status').then((response) => response.status));
    if (status !== 401) throw new Error(`the cookie alone opens it: ${status}`);
    const other = await context.newPage();
    await other.goto(url);
    await other.getByText('has been used').waitFor();
    await other.close();
    const cookies = await context.cookies(`${origin}/api/v1/`);
    if (!cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Strict') || !cookies.length) throw new Error(JSON.stringify(cookies));
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('401')));
  },

  async complaints() {
    return complaints;
  },
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
