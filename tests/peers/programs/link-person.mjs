// A person with a real browser who opens a sign-in link of a switchboard: signs in with its issuer, and then, where the
// link leads on, to the server.
//
//   node link-person.mjs LINK LOGIN
//
// Prints a JSON array with the text of each page of the switchboard that it came to.

import { createRequire } from 'node:module';

const { chromium } = createRequire(`${process.env.SWITCHBOARD_PEERS}/npm-oidc/package.json`)('playwright-core');
const [link, login] = process.argv.slice(-2);
const said = [];

// The provider's own pages; it knows a browser that was there before.
async function signIn(page) {
  await page.waitForURL((at) => at.pathname.startsWith('/interaction/'));
  await page.waitForSelector('form');
  if (await page.locator('input[name=login]').count()) {
    await page.fill('input[name=login]', login);
    await page.fill('input[name=password]', 'any');
    await page.click('button[type=submit]');
  }
  await page.click('text=Continue');
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], timeout: 60_000 });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(link);
  said.push(await page.innerText('body'));
  await page.click('text=Sign in with');
  await signIn(page);
  await page.waitForURL(link);
  said.push(await page.innerText('body'));
  if (await page.locator('text=Continue at').count()) {
    await page.click('text=Continue at');
    await signIn(page);
    await page.waitForURL(/\/sign-in\/callback/);
    said.push(await page.innerText('body'));
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(said));
