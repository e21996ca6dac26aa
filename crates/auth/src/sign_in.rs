//! Signing in and out, once: from a challenge to an account in the store, and back.

use std::sync::Arc;

use switchboard_wire::http::PoolOptions;
use url::Url;

use crate::account::{Account, Client, Record};
use crate::assertion::Signer;
use crate::demand::Demand;
use crate::device::ShowCode;
use crate::dpop::Prover;
use crate::error::Error;
use crate::fetch::Fetcher;
use crate::flow::{self, Callback, Visit};
use crate::identity;
use crate::metadata::{AuthorizationServer, Issued, Resource, discover_resource, discover_server};
use crate::organisation::IdentityProvider;
use crate::scopes::{self, Offer};
use crate::store::{RecordLock, Shelf, Store};
use crate::subject::Subject;
use crate::token::{Desk, Granted};
use crate::zone::Zone;

/// Signs in to one server.
#[derive(Clone)]
pub struct SignIn {
    subject: Arc<Subject>,
    shelf: Shelf,
    network: Arc<PoolOptions>,
    organisation: Option<IdentityProvider>,
}

/// How somebody signs in.
#[derive(Clone, Copy)]
pub enum Way<'a> {
    /// They are brought to a page, and come back from it.
    Page(&'a dyn Visit),
    /// They type a code into a page, wherever they have a browser.
    Code(&'a dyn ShowCode),
    /// They have no browser here: with a code where the server has such, else from a page by hand.
    CodeOrPage(&'a dyn ShowCode, &'a dyn Visit),
}

/// What was found out about how a server is protected.
pub(crate) struct Found {
    pub(crate) resource: Option<Resource>,
    pub(crate) server: AuthorizationServer,
    pub(crate) scopes: Vec<String>,
    pub(crate) fetcher: Fetcher,
    /// The key that its tokens are to be bound to.
    prover: Option<Prover>,
}

// === impl SignIn ===

impl SignIn {
    /// For `subject`, keeping what comes of it in `store`.
    pub fn new(subject: Subject, store: Arc<dyn Store>, network: PoolOptions) -> Self {
        let shelf = Shelf::new(store, &subject.key());
        let (subject, network) = (Arc::new(subject), Arc::new(network));
        Self { subject, shelf, network, organisation: None }
    }

    /// Through that identity provider, where the entry says so.
    #[must_use]
    pub fn through(mut self, organisation: Option<IdentityProvider>) -> Self {
        self.organisation = organisation.filter(|_| self.subject.oauth.xaa == Some(true));
        self
    }

    pub(crate) fn organisation(&self) -> Option<&IdentityProvider> {
        self.organisation.as_ref()
    }

    /// For what is kept under `key`, whatever entry it came from: enough to end it.
    /// Nothing if the record says nothing of a server.
    pub fn kept(
        key: &str,
        record: &Record,
        store: Arc<dyn Store>,
        network: PoolOptions,
    ) -> Option<Self> {
        let subject = Subject::new(&record.server, Url::parse(&record.url).ok()?, None);
        let (subject, shelf) = (Arc::new(subject), Shelf::new(store, key));
        Some(Self { subject, shelf, network: Arc::new(network), organisation: None })
    }

    /// The server.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    pub(crate) fn network(&self) -> &PoolOptions {
        &self.network
    }

    pub(crate) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Signs in with somebody, if it takes one, in their way.
    pub async fn run_in(&self, demand: &Demand, way: Way<'_>) -> Result<Account, Error> {
        let takes_a_person = self.takes_a_person();
        match way {
            Way::Page(visit) => self.run(demand, visit).await,
            Way::CodeOrPage(_, visit) if !takes_a_person => self.run(demand, visit).await,
            Way::Code(_) if !takes_a_person => self.by_itself(demand).await,
            Way::Code(show) => self.by_code(demand, show).await?.ok_or(Error::NoCodes),
            Way::CodeOrPage(show, visit) => match self.by_code(demand, show).await? {
                Some(account) => Ok(account),
                None => self.run(demand, visit).await,
            },
        }
    }

    /// Signs in, with somebody who is brought to a page if it takes a person.
    pub async fn run(&self, demand: &Demand, visit: &dyn Visit) -> Result<Account, Error> {
        if !self.takes_a_person() {
            return self.attended(demand, visit).await;
        }
        let (mut record, _) = self.known().await?;
        let found = self.discover(demand, &record).await?;
        self.same_issuer(&record, &found)?;
        let (client, code, redirect) = self.visit(&found, &mut record, visit).await?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.code.as_str()),
            ("redirect_uri", redirect.as_str()),
            ("code_verifier", code.verifier.as_str()),
        ];
        form.extend(found.resource().map(|resource| ("resource", resource)));
        let granted = found.desk(&client, self.signer()?.as_ref()).ask(&form).await;
        if granted.as_ref().is_err_and(|error| error.is_refusal("invalid_client")) {
            self.forget_registration(&found).await?;
        }
        let granted = granted?;
        let lock = self.shelf.lock().await?;
        self.keep(&lock, &found, client, granted, record).await
    }

    /// A new token for the refresh token of `account`. The caller holds the lock, and keeps what comes of it.
    pub(crate) async fn refresh(&self, account: &Account, token: &str) -> Result<Account, Error> {
        let fetcher = self.fetcher(account.server_zone)?;
        let signer = self.signer()?;
        let prover = account.key.as_ref().and_then(Prover::kept);
        let desk = Desk { prover: prover.as_ref(), ..account.desk(&fetcher, signer.as_ref()) };
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
        form.extend(account.resource.as_deref().map(|resource| ("resource", resource)));
        let granted = desk.ask(&form).await?;
        Ok(Account {
            access: granted.access,
            // One that is not replaced stays good.
            refresh: granted.refresh.or_else(|| account.refresh.clone()),
            expires_at: granted.expires_at,
            obtained_at: granted.obtained_at,
            key: granted.key,
            ..account.clone()
        })
    }

    /// The server has forgotten the client it registered: the next sign-in registers another.
    pub(crate) async fn forget_registration(&self, found: &Found) -> Result<(), Error> {
        self.change(|record| drop(record.registrations.remove(&found.server.issuer))).await
    }

    /// Changes what is kept, alone.
    pub(crate) async fn change(&self, change: impl FnOnce(&mut Record)) -> Result<(), Error> {
        let lock = self.shelf.lock().await?;
        self.change_locked(&lock, change).await
    }

    async fn change_locked(
        &self,
        _lock: &RecordLock,
        change: impl FnOnce(&mut Record),
    ) -> Result<(), Error> {
        let (mut record, _) = self.known().await?;
        change(&mut record);
        self.shelf.save(&record).await?;
        Ok(())
    }

    /// What is kept. A record that cannot be opened, or a damaged key, stands in nobody's way: signing in replaces it.
    pub(crate) async fn known(&self) -> Result<(Record, bool), Error> {
        // Better now than after somebody has been to the page.
        self.shelf.prepare().await?;
        let loaded = self.shelf.load().await;
        let is_lost = loaded.is_err();
        let mut record = loaded.map(|(record, _)| record).unwrap_or_default();
        record.server.clone_from(&self.subject.name);
        self.subject.url.as_str().clone_into(&mut record.url);
        Ok((record, is_lost))
    }

    /// `zone` is where the server was when it was last reached.
    pub(crate) fn fetcher(&self, zone: Option<Zone>) -> Result<Fetcher, Error> {
        let configured = self.subject.oauth.auth_server_metadata_url.as_deref();
        let configured = configured.and_then(|url| Url::parse(url).ok());
        let chosen: Vec<&Url> = [&self.subject.url].into_iter().chain(&configured).collect();
        Fetcher::new(&chosen, zone, &self.network)
    }

    /// What the server says of itself; nothing where it does not.
    pub(crate) async fn resource(&self, demand: &Demand) -> Result<Option<Resource>, Error> {
        self.resource_by(demand, &self.fetcher(demand.zone())?).await
    }

    async fn resource_by(
        &self,
        demand: &Demand,
        fetcher: &Fetcher,
    ) -> Result<Option<Resource>, Error> {
        let named = demand.challenges.resource_metadata();
        discover_resource(&self.subject.url, named, fetcher).await
    }

    pub(crate) async fn discover(&self, demand: &Demand, record: &Record) -> Result<Found, Error> {
        let Subject { url, oauth, .. } = &*self.subject;
        let fetcher = self.fetcher(demand.zone())?;
        let resource = self.resource_by(demand, &fetcher).await?;
        let which = match (&oauth.auth_server_metadata_url, &resource) {
            (Some(url), _) => Issued::Configured(url),
            (None, Some(resource)) => {
                let first = resource.authorization_servers.first();
                Issued::Named(first.ok_or(Error::NoAuthorizationServer)?)
            }
            (None, None) => Issued::Beside(url),
        };
        let server = discover_server(which, &fetcher).await?;
        let scopes = scopes::choose(Offer {
            configured: &oauth.scopes,
            wanted: &record.wanted_of(&server.issuer),
            challenges: &demand.challenges,
            supported: resource.as_ref().and_then(|resource| resource.scopes_supported.as_deref()),
            server: server.scopes_supported.as_deref().filter(|_| self.takes_a_person()),
        });
        let prover = match oauth.dpop {
            Some(true) => Some(Prover::new()?),
            None if wants_proof(demand, resource.as_ref()) && server.binds() => {
                Some(Prover::new()?)
            }
            _ => None,
        };
        Ok(Found { resource, server, scopes, fetcher, prover })
    }

    /// A client that somebody configured belongs to the authorization server it was used with.
    pub(crate) fn same_issuer(&self, record: &Record, found: &Found) -> Result<(), Error> {
        let configured = self.subject.oauth.client_id.is_some();
        match record.account.as_ref().filter(|_| configured) {
            Some(account) if account.issuer != found.server.issuer => Err(Error::OtherIssuer {
                configured: account.issuer.clone(),
                issuer: found.server.issuer.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Brings somebody to the page, as a client that is known there.
    async fn visit(
        &self,
        found: &Found,
        record: &mut Record,
        visit: &dyn Visit,
    ) -> Result<(Client, flow::Code, String), Error> {
        if !found.server.offers_pkce() {
            return Err(Error::NoPkce { issuer: found.server.issuer.clone() });
        }
        let (client, callback) = self.client(found, record).await?;
        let request = flow::Request {
            server: &found.server,
            client: &client,
            resource: found.resource(),
            scopes: &found.scopes,
            subject: &self.subject.name,
        };
        let code = flow::run(&request, &callback, visit, &found.fetcher).await?;
        Ok((client, code, callback.redirect()))
    }

    /// As whom we appear, and where somebody comes back to: both are known to the authorization server together.
    pub(crate) async fn client(
        &self,
        found: &Found,
        record: &mut Record,
    ) -> Result<(Client, Callback), Error> {
        let oauth = &self.subject.oauth;
        let port = oauth.callback_port.unwrap_or(0);
        if let Some(client) = identity::known(oauth, &found.server) {
            return Ok((client, Callback::bind(port).await?));
        }
        let issuer = &found.server.issuer;
        if let Some(registration) = record.registrations.get(issuer)
            && (port == 0 || port == registration.port)
            && let Ok(callback) = Callback::bind(registration.port).await
        {
            return Ok((registration.client.clone(), callback));
        }
        // No registration yet, or its port is somebody else's now.
        let callback = Callback::bind(port).await?;
        let (redirect, port) = (callback.redirect(), callback.port());
        let scopes = &found.scopes;
        let registration =
            identity::register(&found.server, &redirect, port, scopes, &found.fetcher).await?;
        record.registrations.insert(issuer.clone(), registration.clone());
        Ok((registration.client, callback))
    }

    pub(crate) fn signer(&self) -> Result<Option<Signer>, Error> {
        let oauth = &self.subject.oauth;
        let algorithm = oauth.signing_algorithm.as_deref();
        oauth.private_key_file.as_deref().map(|path| Signer::read(path, algorithm)).transpose()
    }

    /// Keeps the account; it counts from then on, here and in every other process.
    pub(crate) async fn keep(
        &self,
        lock: &RecordLock,
        found: &Found,
        client: Client,
        granted: Granted,
        learnt: Record,
    ) -> Result<Account, Error> {
        let account = Account {
            issuer: found.server.issuer.clone(),
            token_endpoint: found.server.token_endpoint.clone(),
            revocation_endpoint: found.server.revocation_endpoint.clone(),
            client,
            resource: found.resource().map(str::to_owned),
            scopes: found.scopes.clone(),
            access: granted.access,
            expires_at: granted.expires_at,
            obtained_at: granted.obtained_at,
            refresh: granted.refresh,
            key: granted.key,
            id_token: None,
            sign_in_id: self.sign_in_id(&learnt).await?,
            server_zone: found.fetcher.first_zone(),
        };
        if account.key.is_none() && self.subject.oauth.dpop == Some(true) {
            return Err(Error::NotBound { issuer: account.issuer });
        }
        let kept = account.clone();
        self.change_locked(lock, |record| {
            record.registrations = learnt.registrations;
            record.account = Some(kept);
            record.wanted = Vec::new();
            record.lost = None;
        })
        .await?;
        Ok(account)
    }
}

/// Whether the server takes tokens that are bound to a key.
fn wants_proof(demand: &Demand, resource: Option<&Resource>) -> bool {
    demand.challenges.takes_proofs()
        || resource.is_some_and(|resource| resource.dpop_bound_access_tokens_required)
}

// === impl Found ===

impl Found {
    /// Where tokens are had.
    pub(crate) fn desk<'a>(&'a self, client: &'a Client, signer: Option<&'a Signer>) -> Desk<'a> {
        let AuthorizationServer { issuer, token_endpoint, .. } = &self.server;
        let (fetcher, prover) = (&self.fetcher, self.prover.as_ref());
        Desk { fetcher, issuer, endpoint: token_endpoint, client, signer, prover }
    }

    pub(crate) fn resource(&self) -> Option<&str> {
        self.resource.as_ref().map(|resource| resource.name.as_str())
    }
}

// === impl Account ===

impl Account {
    pub(crate) fn desk<'a>(&'a self, fetcher: &'a Fetcher, signer: Option<&'a Signer>) -> Desk<'a> {
        let Self { issuer, token_endpoint, client, .. } = self;
        Desk { fetcher, issuer, endpoint: token_endpoint, client, signer, prover: None }
    }
}

// === impl Record ===

impl Record {
    /// What the next sign-in with `issuer` asks for too: what is known to be missing, and what was asked for before.
    fn wanted_of(&self, issuer: &str) -> Vec<String> {
        if self.wanted.is_empty() {
            return Vec::new();
        }
        let mut wanted = self.wanted.clone();
        if let Some(account) = self.account.as_ref().filter(|account| account.issuer == issuer) {
            scopes::add(&mut wanted, &account.scopes);
        }
        wanted
    }
}
