// An MCP server on the TypeScript SDK that takes only tokens of a certified OpenID provider, which is here as well.
//
//   node oidc-server.mjs [--life SECONDS] [--jwt] [--organisation] [--people]
//
// Says `{"url": …}` on stdout once both are there. From then on a line of JSON on stdin is something to be done or
// told, answered with a line (see `commands`); it ends with its stdin. Access tokens live for --life seconds and are
// opaque, or signed with --jwt. With --organisation there is an identity provider as well, whose statements about
// somebody the provider takes; `organisation` says where. With --people everybody has a
// name and teams, and the client `hub` may sign browsers in. SWITCHBOARD_PEERS names the folder that `cargo xtask peers` prints.

import { AsyncLocalStorage } from 'node:async_hooks';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const peers = process.env.SWITCHBOARD_PEERS;
if (!peers) {
  console.error('SWITCHBOARD_PEERS is not set: run cargo xtask test');
  process.exit(2);
}
const sdk = createRequire(`${peers}/npm/package.json`);
const { McpServer, createMcpHandler } = sdk('@modelcontextprotocol/server');
const { toNodeHandler } = sdk('@modelcontextprotocol/node');
const z = sdk('zod');
const openid = createRequire(`${peers}/npm-oidc/package.json`);
const { Provider, errors } = await import(pathToFileURL(openid.resolve('oidc-provider')));
const jose = await import(pathToFileURL(openid.resolve('jose')));

// Standard output is for answers; the provider's remarks are not.
console.info = console.error;

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const life = Number(option('--life') ?? 3600);
const signed = process.argv.includes('--jwt');
const organised = process.argv.includes('--organisation');
const peopled = process.argv.includes('--people');

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const STATEMENT = 'oauth-id-jag+jwt';

// What happened, and what is to happen.
const books = { refreshed: 0, asked: 0, registered: 0, revoked: 0, refused: [], called: 0, visited: 0, exchanged: 0 };
const faults = { unwell: 0, hold: undefined };
let rotates = true;
const access = new Set();
const refresh = new Set();

// --- people

const TEAMS = { ada: ['ops'], bob: ['dev', 'ops'], cara: ['dev'] };
const about = (id) => ({ name: `${id} of the company`, teams: TEAMS[id] ?? [] });

// Access tokens say who their people are; ID tokens leave it to the userinfo endpoint.
const people = {
  claims: { openid: ['sub'], profile: ['name'], teams: ['teams'] },
  extraTokenClaims: (_ctx, token) => (token.accountId ? about(token.accountId) : undefined),
};

// A switchboard on whatever port of this machine.
const hub = {
  client_id: 'hub', client_secret: 'the-secret-of-the-hub', application_type: 'native', grant_types: ['authorization_code'],
  response_types: ['code'], redirect_uris: ['http://127.0.0.1/sign-in/issuer/callback'], token_endpoint_auth_method: 'client_secret_basic',
};

// --- the provider

// What tokens for the server are like.
function shielded(resource) {
  const format = signed ? { accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } } : { accessTokenFormat: 'opaque' };
  return { scope: 'read write', audience: resource, accessTokenTTL: life, ...format };
}

function configuration(resource, keys) {
  return {
    jwks: { keys },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', 'offline_access', 'read', 'write', ...(peopled ? ['profile', 'teams'] : [])],
    ...(peopled ? people : {}),
    pkce: { required: () => true },
    rotateRefreshToken: () => rotates,
    issueRefreshToken: (_ctx, client, code) => client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...(peopled ? about(id) : {}) }) }),
    ttl: { AccessToken: life, DeviceCode: 60, Grant: 3600, Interaction: 600, RefreshToken: 3600, Session: 3600, IdToken: 3600 },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true },
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // A token without a resource is one for the userinfo endpoint.
        defaultResource: (_ctx, client) => (client.clientId === 'hub' ? undefined : resource),
        getResourceServerInfo: () => shielded(resource),
        useGrantedResource: () => true,
      },
    },
    clients: [
      ...(peopled ? [hub] : []),
      // A program that comes with a statement of the organisation's.
      ...(organised ? [{
        client_id: 'agent', grant_types: [BEARER], redirect_uris: [], response_types: [], token_endpoint_auth_method: 'none',
      }] : []),
      // A program that signs in as itself.
      {
        client_id: 'robot', client_secret: 'robots-own-secret', grant_types: ['client_credentials'], redirect_uris: [],
        response_types: [], token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
  };
}

function keepBooks(provider) {
  provider.on('access_token.saved', (token) => access.add(token));
  provider.on('access_token.issued', (token) => access.add(token));
  provider.on('refresh_token.saved', (token) => refresh.add(token));
  provider.on('registration_create.success', () => { books.registered += 1; });
  provider.on('grant.success', (ctx) => {
    if (ctx.oidc.params.grant_type === 'refresh_token') books.refreshed += 1;
  });
  provider.on('grant.error', (_ctx, error) => books.refused.push(error.error));
  remark(provider);
}

function remark(provider) {
  for (const name of ['server_error', 'registration_create.error', 'authorization.error', 'revocation.error']) {
    provider.on(name, (_ctx, error) => console.error(`${name}: ${error.error_description ?? error.stack}`));
  }
}

// Stands before the token endpoint: answers 503, or keeps an answer back for as long as it is told to.
async function beforeTokens(req, res, handle) {
  books.asked += 1;
  if (faults.unwell > 0) {
    faults.unwell -= 1;
    res.writeHead(503).end();
    return;
  }
  if (faults.hold === 'question') return;
  if (faults.hold === 'answer') {
    // The grant is used up, and nobody hears what came of it.
    res.writeHead = () => res;
    res.write = () => true;
    res.end = () => res;
  }
  handle(req, res);
}

// --- the organisation

async function found() {
  const server = createServer();
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'organisation' };
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', 'offline_access', ...(peopled ? ['profile', 'teams'] : [])],
    ...(peopled ? people : {}),
    pkce: { required: () => true },
    issueRefreshToken: (_ctx, _client, code) => code.scopes.has('offline_access'),
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...(peopled ? about(id) : {}) }) }),
    features: { devInteractions: { enabled: true }, revocation: { enabled: true } },
    clients: [...(peopled ? [hub] : []), {
      client_id: 'everywhere', application_type: 'native',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/sign-in/callback'],
      grant_types: ['authorization_code', 'refresh_token', EXCHANGE], token_endpoint_auth_method: 'none',
    }],
  });
  remark(provider);
  provider.on('authorization.success', () => { books.visited += 1; });
  // An id token becomes a statement for one server's authorization server.
  provider.registerGrantType(EXCHANGE, async (ctx) => {
    const { client, params } = ctx.oidc;
    const refuse = () => { throw new errors.InvalidGrant('this is no id token of ours'); };
    const { payload } = await jose.jwtVerify(params.subject_token, publicKey, { issuer, audience: client.clientId }).catch(refuse);
    books.exchanged += 1;
    const statement = new jose.SignJWT({ client_id: 'agent', resource: params.resource, scope: params.scope })
      .setProtectedHeader({ alg: 'RS256', kid: 'organisation', typ: STATEMENT })
      .setIssuer(issuer).setSubject(payload.sub).setAudience(params.audience)
      .setJti(randomBytes(16).toString('hex')).setIssuedAt().setExpirationTime('5m');
    ctx.body = { access_token: await statement.sign(privateKey), issued_token_type: ID_JAG, token_type: 'N_A', expires_in: 300 };
  }, ['subject_token', 'subject_token_type', 'requested_token_type', 'audience', 'resource', 'scope']);
  server.on('request', provider.callback());
  return { issuer, publicKey, provider };
}

// Statements of the organisation's are as good as a person.
function trust(provider, issuer, resource, organisation) {
  provider.registerGrantType(BEARER, async (ctx) => {
    const { client, params } = ctx.oidc;
    const refuse = () => { throw new errors.InvalidGrant('this is no statement for us'); };
    const expected = { issuer: organisation.issuer, audience: issuer, typ: STATEMENT };
    const { payload } = await jose.jwtVerify(params.assertion, organisation.publicKey, expected).catch(refuse);
    if (payload.client_id !== client.clientId || payload.resource !== resource) refuse();
    const scope = payload.scope ?? 'read';
    const grant = new provider.Grant({ accountId: payload.sub, clientId: client.clientId });
    grant.addResourceScope(resource, scope);
    const grantId = await grant.save();
    const token = new provider.AccessToken({ accountId: payload.sub, client, grantId, gty: 'jwt-bearer', scope });
    token.resourceServer = new provider.ResourceServer(resource, shielded(resource));
    ctx.body = { access_token: await token.save(), expires_in: token.expiration, token_type: 'Bearer', scope };
  }, ['assertion', 'scope', 'resource']);
}

// --- the MCP server

// Whose token the request has that is being answered.
const caller = new AsyncLocalStorage();

function build() {
  const server = new McpServer({ name: 'protected', version: '1.0.0' });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool('add', { description: 'Adds two numbers', inputSchema }, ({ a, b }) => {
    books.called += 1;
    return { content: [{ type: 'text', text: String(a + b) }] };
  });
  if (organised && peopled) {
    server.registerTool('whoami', { description: 'Tells whose token it is', inputSchema: z.object({}) }, () => ({
      content: [{ type: 'text', text: caller.getStore() }],
    }));
  }
  return server;
}

// What cannot be a token of that kind is none.
const find = (kind, token) => kind.find(token).catch(() => undefined);

// Whose a token is; nothing where it is not accepted.
async function accepts(provider, issuer, resource, key, token) {
  if (!token) return undefined;
  if (signed) {
    const checked = await jose.jwtVerify(token, key, { issuer, audience: resource }).catch(() => undefined);
    return checked?.payload.sub;
  }
  const found = await find(provider.AccessToken, token) ?? await find(provider.ClientCredentials, token);
  const isGood = found !== undefined && !found.isExpired && [found.aud].flat().includes(resource);
  return isGood ? found.accountId ?? found.clientId : undefined;
}

function protectedBy(provider, issuer, key) {
  const resource = `${issuer}/mcp`;
  const metadata = `${issuer}/.well-known/oauth-protected-resource/mcp`;
  const serve = toNodeHandler(createMcpHandler(build, { legacy: 'stateless' }));
  return async (req, res) => {
    const token = req.headers.authorization?.replace(/^Bearer /, '');
    const subject = await accepts(provider, issuer, resource, key, token);
    if (subject !== undefined) return void caller.run(subject, () => serve(req, res));
    const error = token ? 'error="invalid_token", ' : '';
    const challenge = `Bearer ${error}scope="read", resource_metadata="${metadata}"`;
    res.writeHead(401, { 'www-authenticate': challenge }).end();
  };
}

// --- both

async function start(server) {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const resource = `${issuer}/mcp`;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'one' };
  const provider = new Provider(issuer, configuration(resource, [key]));
  keepBooks(provider);
  const organisation = organised ? await found() : undefined;
  if (organisation) trust(provider, issuer, resource, organisation);
  const provide = provider.callback();
  const guarded = protectedBy(provider, issuer, publicKey);
  server.on('request', (req, res) => {
    const { pathname } = new URL(req.url, issuer);
    if (pathname === '/mcp') return void guarded(req, res);
    if (pathname === '/token') return void beforeTokens(req, res, provide);
    if (pathname === '/.well-known/oauth-protected-resource/mcp') {
      const body = { resource, authorization_servers: [issuer], scopes_supported: ['read'] };
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
    if (pathname === '/token/revocation') {
      res.once('finish', () => { books.revoked += Number(res.statusCode === 200); });
    }
    provide(req, res);
  });
  return { provider, organisation, url: resource };
}

const gone = async (tokens) => {
  await Promise.all([...tokens].map((token) => token.destroy()));
  tokens.clear();
};

// What may be asked of it on stdin: `{"do": NAME, …}`.
const commands = (provider, organisation) => ({
  books: () => books,
  // The next `times` requests for a token are answered with 503.
  unwell: ({ times }) => { faults.unwell = times; },
  // Whether a refresh token is replaced when it is used.
  rotation: ({ on }) => { rotates = on; },
  // Requests for a token are not read ("question"), or done and not answered ("answer"); null ends it.
  hold: ({ what }) => { faults.hold = what ?? undefined; },
  // No access token is accepted any more.
  expire: () => gone(access),
  // Nor any refresh token.
  forget: async () => { await gone(access); await gone(refresh); },
  // A signed access token of a person, for what is at `audience`; of the organisation, where there is one.
  token: async ({ subject, audience }) => {
    const issuer = organisation ?? provider;
    const client = await issuer.Client.find('hub');
    const grant = new issuer.Grant({ accountId: subject, clientId: client.clientId });
    grant.addResourceScope(audience, 'read');
    const grantId = await grant.save();
    const token = new issuer.AccessToken({ accountId: subject, client, grantId, gty: 'authorization_code', scope: 'read' });
    const jwt = { accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
    token.resourceServer = new issuer.ResourceServer(audience, { ...shielded(audience), ...jwt });
    return { token: await token.save() };
  },
  // Whether a token is still good.
  knows: async ({ token }) => {
    const kinds = [provider.AccessToken, provider.ClientCredentials, provider.RefreshToken];
    const found = (await Promise.all(kinds.map((kind) => find(kind, token)))).find((one) => one);
    return { knows: found !== undefined && !found.consumed && !found.isExpired };
  },
});

const server = createServer();
await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
const { provider, organisation, url } = await start(server);
console.log(JSON.stringify({ url, organisation: organisation?.issuer }));
const known = commands(provider, organisation?.provider);
for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  console.log(JSON.stringify(await known[told.do](told) ?? {}));
}
process.exit(0);
