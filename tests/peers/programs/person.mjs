// Somebody who signs in: goes to a page, fills in what is asked for, agrees, and ends where that leads to.
//
//   node person.mjs [--chromium] URL
//
// By itself it is as simple as a browser can be: it keeps cookies, follows redirects and sends forms. With --chromium
// it is a real one. Either way it gives up after a few pages.

import { createRequire } from 'node:module';

const PAGES = 20;
const WHO = { login: 'ada', password: 'any' };
const url = process.argv.at(-1);

// --- cookies, by name and path

const jar = new Map();

function keep(response, at) {
  for (const cookie of response.headers.getSetCookie()) {
    const [pair, ...attributes] = cookie.split(';').map((part) => part.trim());
    const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
    const attribute = (word) => attributes.find((found) => found.toLowerCase().startsWith(`${word}=`))?.split('=')[1];
    const path = attribute('path') ?? '/';
    const ends = attribute('expires');
    const id = `${at.host} ${path} ${name}`;
    if (ends && new Date(ends) < new Date()) jar.delete(id);
    else jar.set(id, { host: at.host, path, name, value });
  }
}

const cookies = (at) => [...jar.values()]
  .filter(({ host, path }) => host === at.host && at.pathname.startsWith(path))
  .map(({ name, value }) => `${name}=${value}`)
  .join('; ');

// --- pages

const text = (html) => html.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"');
const attribute = (tag, name) => text(tag.match(new RegExp(`\\s${name}="([^"]*)"`))?.[1] ?? '');

// What is sent from the first form of a page.
function filled(html, at) {
  const form = html.match(/<form[\s\S]*?<\/form>/)?.[0];
  if (!form) return undefined;
  const fields = [...form.matchAll(/<input[\s\S]*?>/g)].map(([tag]) => {
    const name = attribute(tag, 'name');
    return [name, WHO[name] ?? attribute(tag, 'value')];
  });
  return { to: new URL(attribute(form, 'action'), at), body: new URLSearchParams(fields.filter(([name]) => name)) };
}

async function byHand(first) {
  let [at, body] = [new URL(first), undefined];
  for (let page = 0; page < PAGES; page++) {
    const method = body ? 'POST' : 'GET';
    const response = await fetch(at, { method, body, redirect: 'manual', headers: { cookie: cookies(at) } });
    keep(response, at);
    const location = response.headers.get('location');
    if (location) {
      [at, body] = [new URL(location, at), undefined];
      continue;
    }
    const next = filled(await response.text(), at);
    if (!next) return process.exit(response.ok ? 0 : 1);
    [at, body] = [next.to, next.body];
  }
  throw new Error(`no end after ${PAGES} pages: ${at}`);
}

async function byChromium(first) {
  const { chromium } = createRequire(`${process.env.SWITCHBOARD_PEERS}/npm-oidc/package.json`)('playwright-core');
  const options = { executablePath: '/usr/bin/chromium', args: ['--no-sandbox'], timeout: 30_000 };
  const browser = await chromium.launch(options);
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(first);
    await page.fill('input[name=login]', WHO.login);
    await page.fill('input[name=password]', WHO.password);
    await page.click('button[type=submit]');
    await page.click('text=Continue');
    await page.waitForURL(/\/callback/);
    console.log(await page.innerText('body'));
  } finally {
    await browser.close();
  }
}

await (process.argv.includes('--chromium') ? byChromium(url) : byHand(url));
