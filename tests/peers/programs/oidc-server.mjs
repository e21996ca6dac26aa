// A real MCP server behind a real OpenID provider, on one port: `/mcp` wants a token, everything else is the provider.
//
//   node oidc-server.mjs
//
// Whoever comes to sign in is signed in and agrees to everything. Refresh tokens are rotated, and one that is shown
// twice ends the whole sign-in. `GET /counts` says how often which grant was given, and `GET /expire` ends every access
// token there is. SWITCHBOARD_PEERS names the folder that `cargo xtask peers` prints: the packages live there, not beside
// this file.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const peers = process.env.SWITCHBOARD_PEERS;
if (!peers) {
  console.error('SWITCHBOARD_PEERS is not set: run cargo xtask test');
  process.exit(2);
}
const { Provider } = createRequire(`${peers}/npm-auth/package.json`)('oidc-provider');
const life = 3600;

async function startUpstream() {
  const script = new URL('ts2-server.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, 'http', '0', '--both'], { stdio: ['pipe', 'ignore', 'pipe'] });
  process.on('exit', () => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stderr }), 'line');
  return new URL(line.replace('listening ', ''));
}

const upstream = await startUpstream();
const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(base, {
  clients: [],
  scopes: ['openid', 'offline_access', 'read'],
  pkce: { required: () => true },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: () => true,
  rotateRefreshToken: () => true,
  ttl: { AccessToken: life, RefreshToken: 3600, Grant: 3600, Interaction: 600, Session: 3600 },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: 'read', accessTokenFormat: 'opaque', accessTokenTTL: life }),
      useGrantedResource: () => true,
    },
  },
});

const counts = { authorization_code: 0, refresh_token: 0, revoked: 0 };
provider.on('grant.success', (ctx) => (counts[ctx.oidc.params.grant_type] += 1));
provider.on('grant.revoked', () => (counts.revoked += 1));
const given = new Set();
const ended = new Set();
provider.on('access_token.saved', (token) => given.add(token.jti));

async function agree(req, res) {
  const { params, grantId } = await provider.interactionDetails(req, res);
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: 'somebody', clientId: params.client_id });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope(params.resource, 'read');
  const result = { login: { accountId: 'somebody' }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(req, res, result);
}

async function protect(req, res) {
  const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1];
  const found = token && (await provider.AccessToken.find(token));
  if (!found || ended.has(found.jti) || found.aud !== `${base}/mcp`) {
    const metadata = `${base}/.well-known/oauth-protected-resource/mcp`;
    res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}", scope="read"` });
    return res.end();
  }
  const { authorization: _, ...headers } = req.headers;
  const options = { method: req.method, headers: { ...headers, host: upstream.host } };
  const onward = request(upstream, options, (answer) => {
    res.writeHead(answer.statusCode, answer.headers);
    answer.pipe(res);
  });
  onward.on('error', () => res.destroy());
  res.on('close', () => onward.destroy());
  return req.pipe(onward);
}

function json(res, value) {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify(value));
}

const handle = provider.callback();
server.on('request', (req, res) => {
  const failed = (error) => {
    console.error(error);
    res.destroy();
  };
  const path = req.url.split('?')[0];
  if (path === '/mcp') protect(req, res).catch(failed);
  else if (path.startsWith('/interaction/')) agree(req, res).catch(failed);
  else if (path === '/counts') json(res, counts);
  else if (path === '/expire') {
    given.forEach((token) => ended.add(token));
    json(res, counts);
  }
  else if (path === '/.well-known/oauth-protected-resource/mcp') {
    json(res, { resource: `${base}/mcp`, authorization_servers: [base], scopes_supported: ['read'] });
  } else handle(req, res);
});
console.error(`listening ${base}/mcp`);
