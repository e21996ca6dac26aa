//! An organisation's identity provider: somebody signs in there once, and every server whose authorization server trusts
//! it lets them in without another window.
//!
//! ```text
//! sign-in (OpenID) ─ id token ─ exchange (RFC 8693) ─ a grant for one server ─► grant.rs presents it (RFC 7523)
//!                       └ renewed when it ends
//! ```
//!
//! What is kept of it is a record like any other's. It knows nothing of the servers it is used for.

mod exchange;
mod identity;
mod renewal;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use switchboard_wire::http::PoolOptions;
use switchboard_wire::sanitize;
use url::Url;

use crate::account::{Account, Client, Record};
use crate::error::{Error, Leg};
use crate::fetch::Fetcher;
use crate::flow::{self, Callback, Visit};
use crate::helper::Helper;
use crate::identity as client_identity;
use crate::metadata::{AuthorizationServer, Issued, discover_server};
use crate::scopes;
use crate::sign_in::SignIn;
use crate::sign_out::sign_out;
use crate::store::{Shelf, Stamp, Store, StoreError};
use crate::token::{Desk, Granted};
pub(crate) use exchange::Target;
pub use identity::Identity;

/// An organisation's identity provider, as settings name it, and who is signed in to it.
#[derive(Clone)]
pub struct IdentityProvider {
    settings: Arc<switchboard_config::IdentityProvider>,
    /// Prints the client's secret, of one that has one.
    helper: Option<Arc<Helper>>,
    store: Arc<dyn Store>,
    shelf: Shelf,
    network: Arc<PoolOptions>,
}

/// The provider, as it describes itself, and us before it.
struct Known {
    server: AuthorizationServer,
    client: Client,
    fetcher: Fetcher,
}

// === impl IdentityProvider ===

impl IdentityProvider {
    /// The one that `settings` name; `helper` is what runs their `clientSecretHelper`.
    pub fn new(
        settings: switchboard_config::IdentityProvider,
        helper: Option<Helper>,
        store: Arc<dyn Store>,
        network: PoolOptions,
    ) -> Self {
        let shelf = Shelf::new(store.clone(), &key(&settings));
        let (settings, helper) = (Arc::new(settings), helper.map(Arc::new));
        Self { settings, helper, store, shelf, network: Arc::new(network) }
    }

    /// What the store keeps it under.
    pub fn key(&self) -> String {
        key(&self.settings)
    }

    /// Its issuer.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Changes whenever somebody signs in or out.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.shelf.stamp()
    }

    /// Names the sign-in of the person who is signed in; `None` if no one is.
    pub(crate) async fn sign_in_id(&self) -> Result<Option<String>, StoreError> {
        let (record, _) = self.shelf.load().await?;
        Ok(record.account.map(|account| account.sign_in_id))
    }

    /// Who is signed in.
    pub async fn identity(&self) -> Result<Option<Identity>, Error> {
        let (record, _) = self.shelf.load().await?;
        Ok(Identity::of(&record))
    }

    /// Signs in, with somebody who is brought to a page.
    pub async fn login(&self, visit: &dyn Visit) -> Result<Identity, Error> {
        // A store that cannot keep the sign-in is found before the page is opened.
        self.shelf.prepare().await?;
        let known = self.discover().await?;
        let page = known.server.authorization_endpoint.clone().unwrap_or_default();
        let granted = self.visit(&known, visit).await;
        let granted = granted.map_err(|error| error.on(Leg::SignIn, &page))?;
        let account = self.account(&known, granted, None)?;
        let _lock = self.shelf.lock().await?;
        let record = self.record(account);
        self.shelf.save(&record).await?;
        Identity::of(&record).ok_or_else(|| self.nobody(None))
    }

    /// Signs out: the tokens are taken back where the provider lets us, and forgotten whatever came of that. `Ok(None)`
    /// if nobody was signed in.
    pub async fn logout(&self) -> Result<Option<Result<(), Error>>, Error> {
        let record = self.record_or_nothing().await;
        let network = (*self.network).clone();
        match SignIn::kept(&self.key(), &record, self.store.clone(), network) {
            Some(sign_in) => sign_out(&sign_in).await,
            None => Ok(None),
        }
    }

    /// What is kept. What cannot be opened any more can still be forgotten.
    async fn record_or_nothing(&self) -> Record {
        let kept = self.shelf.load().await.map(|(record, _)| record).unwrap_or_default();
        let issuer = self.settings.issuer.clone();
        Record { server: issuer.clone(), url: issuer, ..kept }
    }

    fn record(&self, account: Account) -> Record {
        let issuer = self.settings.issuer.clone();
        Record { server: issuer.clone(), url: issuer, account: Some(account), ..Record::default() }
    }

    async fn discover(&self) -> Result<Known, Error> {
        let issuer = &self.settings.issuer;
        let discovered = async {
            let what = "the identity provider";
            let shown = || sanitize::line(issuer).into_owned();
            let url = Url::parse(issuer).map_err(|_| Error::NotAUrl { what, url: shown() })?;
            let fetcher = Fetcher::new(&[&url], None, &self.network)?;
            let server = discover_server(Issued::Named(issuer), &fetcher).await?;
            Ok((server, fetcher))
        };
        let (server, fetcher) =
            discovered.await.map_err(|error: Error| error.on(Leg::Provider, issuer))?;
        let client = self.client(&server).await?;
        Ok(Known { server, client, fetcher })
    }

    async fn client(&self, server: &AuthorizationServer) -> Result<Client, Error> {
        let secret = match &self.helper {
            Some(helper) => Some(helper.secret().await.map_err(Error::ClientSecret)?),
            None => None,
        };
        let auth = client_identity::usual(server, secret.as_ref());
        Ok(Client { id: self.settings.client_id.clone(), secret, auth })
    }

    async fn visit(&self, known: &Known, visit: &dyn Visit) -> Result<Granted, Error> {
        let Known { server, client, fetcher } = known;
        if !server.offers_pkce() {
            return Err(Error::NoPkce { issuer: sanitize::line(&server.issuer).into() });
        }
        let callback = Callback::bind(self.settings.callback_port.unwrap_or(0)).await?;
        let scopes = self.scopes(server);
        let subject = &self.settings.issuer;
        let request = flow::Request { server, client, resource: None, scopes: &scopes, subject };
        let code = flow::run(&request, &callback, visit, fetcher).await?;
        let redirect = callback.redirect();
        known
            .desk()
            .ask(&[
                ("grant_type", "authorization_code"),
                ("code", &code.code),
                ("redirect_uri", &redirect),
                ("code_verifier", &code.verifier),
            ])
            .await
    }

    /// `openid` is what makes it a statement about somebody; `offline_access` is what makes it last.
    fn scopes(&self, server: &AuthorizationServer) -> Vec<String> {
        let mut wanted = vec!["openid".to_owned()];
        scopes::add(&mut wanted, &self.settings.scopes);
        let offered = server.scopes_supported.iter().flatten();
        let lasting: Vec<_> = offered.filter(|scope| *scope == scopes::OFFLINE).cloned().collect();
        scopes::add(&mut wanted, &lasting);
        wanted
    }

    fn nobody(&self, why: Option<String>) -> Error {
        Error::NobodyThere { issuer: sanitize::line(&self.settings.issuer).into_owned(), why }
    }
}

/// Two that differ in issuer or client share no sign-in.
fn key(settings: &switchboard_config::IdentityProvider) -> String {
    let mut hash = Sha256::new();
    for part in ["identity provider", &settings.issuer, &settings.client_id] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

// === impl Known ===

impl Known {
    fn desk(&self) -> Desk<'_> {
        let AuthorizationServer { issuer, token_endpoint, .. } = &self.server;
        Desk {
            fetcher: &self.fetcher,
            issuer,
            endpoint: token_endpoint,
            client: &self.client,
            signer: None,
            prover: None,
        }
    }
}
