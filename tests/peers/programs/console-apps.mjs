// What somebody does with the apps of servers at the console: steps of console.mjs.

/** How long the console may take for anything while an app misbehaves. */
const USABLE_MILLIS = 5000;

export function appSteps({ page, context, top, press, close, openItem, fill, view, soundWindow, origin }) {
  const card = () => top().locator('section.app');
  const inner = () => top().frameLocator('.app-frame iframe').frameLocator('iframe');
  const fields = () => top().locator('form').first();

  return {
    /** Opens a tool and calls it; its app has to show these texts. The window stays. */
    async app({ tool, fields: values = {}, shows = [] }) {
      await openItem('Tools', tool);
      await fill(fields(), values);
      await press('Call');
      for (const text of [shows].flat()) await inner().getByText(text).first().waitFor();
    },

    /** Opens a tool without a call. */
    async tool({ tool }) {
      await openItem('Tools', tool);
    },

    async pressed({ button }) {
      await press(button);
    },

    async fillIn({ fields: values }) {
      await fill(fields(), values);
    },

    async appShows({ texts }) {
      for (const text of texts) await inner().getByText(text).first().waitFor();
    },

    /** Everything that the app shows. */
    async appText() {
      return inner().locator('body').innerText();
    },

    /** Clicks something in the app. */
    async appClick({ button }) {
      await inner().getByRole('button', { name: button }).first().click();
    },

    /** The person sees these texts beside the app. */
    async told({ texts }) {
      for (const text of texts) await card().getByText(text).first().waitFor();
    },

    async pressInApp({ button }) {
      await card().getByRole('button', { name: button, exact: true }).click();
    },

    /** The app is gone, and can be opened again. */
    async appEnded() {
      await card().getByRole('button', { name: 'Open the app', exact: true }).waitFor();
      if (await card().locator('iframe').count()) throw new Error('the frame is still there');
    },

    /** A page opens when the person says so, and only then. */
    async appLink({ button }) {
      const [other] = await Promise.all([context.waitForEvent('page'), card().getByRole('button', { name: button, exact: true }).click()]);
      const opened = await other.evaluate(() => window.opener === null);
      await other.close();
      return opened;
    },

    /** The frames: sandboxed, of another origin than the console, and without its cookies. */
    async appFrames() {
      const outer = await top().locator('.app-frame iframe').evaluate((frame) => ({ sandbox: frame.getAttribute('sandbox'), src: new URL(frame.src).origin }));
      const proxy = page.frames().find((frame) => frame.url().startsWith(outer.src));
      const app = proxy.childFrames()[0];
      const view = await proxy.locator('iframe').evaluate((frame) => frame.getAttribute('sandbox'));
      const cookies = await proxy.evaluate(() => document.cookie);
      const sent = await context.cookies(`${outer.src}/`);
      return { outer: outer.sandbox, inner: view, isOther: outer.src !== origin, hasOtherHost: new URL(outer.src).hostname !== new URL(origin).hostname, cookies, sent, origin: await app.evaluate(() => window.origin) };
    },

    /** The window with the app is accessible. */
    async soundApp() {
      await soundWindow();
    },

    async appHeight() {
      return top().locator('.app-frame iframe').evaluate((frame) => frame.clientHeight);
    },

    async theme({ scheme }) {
      await page.emulateMedia({ colorScheme: scheme });
    },

    /** The page still does what it is asked, soon. */
    async usable() {
      const before = Date.now();
      await close();
      await view('Calls');
      await page.getByRole('heading', { name: 'Calls' }).waitFor();
      await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(resolve); }));
      if (Date.now() - before > USABLE_MILLIS) throw new Error(`the page took ${Date.now() - before} ms`);
      await page.waitForFunction(() => !document.querySelector('dialog'));
    },

    async closeWindow() {
      await close();
      await page.waitForFunction(() => !document.querySelector('dialog'));
    },

    async noticed({ text }) {
      await page.locator('#notices').getByText(text).first().waitFor();
    },

    async appPicture({ path, dark }) {
      if (dark) await page.emulateMedia({ colorScheme: 'dark' });
      await card().locator('.bar').evaluate((bar) => { bar.closest('dialog').scrollTop = bar.offsetTop - 64; });
      await page.waitForTimeout(400);
      await page.screenshot({ path, animations: 'disabled' });
      await page.emulateMedia({ colorScheme: 'light' });
    },
  };
}
