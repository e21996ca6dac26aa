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
use switchboard_wire::http::HttpPoolOptions;
use switchboard_wire::sanitize;
use url::Url;

use crate::account::{OAuthAccount, OAuthClient, SignInRecord};
use crate::client_registration as client_identity;
use crate::error::{Error, IdentityProviderStep};
use crate::fetch::Fetcher;
use crate::flow::{self, CallbackListener, OpenSignInPage};
use crate::helper::HelperCommand;
use crate::metadata::{AuthorizationServer, IssuerSource, discover_server};
use crate::scopes;
use crate::sign_in::SignIn;
use crate::sign_out::sign_out;
use crate::store::{RecordStamp, SignInStore, SignInStoreError, StoredRecord};
use crate::token::{IssuedToken, TokenEndpoint};
pub(crate) use exchange::GrantTarget;
pub use identity::SignedInUser;

/// An organisation's identity provider, as settings name it, and who is signed in to it.
#[derive(Clone)]
pub struct IdentityProviderClient {
    settings: Arc<switchboard_config::IdentityProvider>,
    /// Prints the client's secret, of one that has one.
    helper: Option<Arc<HelperCommand>>,
    store: Arc<dyn SignInStore>,
    shelf: StoredRecord,
    network: Arc<HttpPoolOptions>,
}

/// The provider, as it describes itself, and us before it.
struct DiscoveredProvider {
    server: AuthorizationServer,
    client: OAuthClient,
    fetcher: Fetcher,
}

// === impl IdentityProvider ===

impl IdentityProviderClient {
    /// The one that `settings` name; `helper` is what runs their `clientSecretHelper`.
    pub fn new(
        settings: switchboard_config::IdentityProvider,
        helper: Option<HelperCommand>,
        store: Arc<dyn SignInStore>,
        network: HttpPoolOptions,
    ) -> Self {
        let shelf = StoredRecord::new(store.clone(), &provider_key(&settings));
        let (settings, helper) = (Arc::new(settings), helper.map(Arc::new));
        Self { settings, helper, store, shelf, network: Arc::new(network) }
    }

    /// What the store keeps it under.
    pub fn store_key(&self) -> String {
        provider_key(&self.settings)
    }

    /// Its issuer.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Changes whenever somebody signs in or out.
    pub(crate) fn stamp(&self) -> Option<RecordStamp> {
        self.shelf.stamp()
    }

    /// Names the sign-in of the person who is signed in; `None` if no one is.
    pub(crate) async fn sign_in_id(&self) -> Result<Option<String>, SignInStoreError> {
        let (record, _) = self.shelf.load().await?;
        Ok(record.account.map(|account| account.sign_in_id))
    }

    /// Who is signed in.
    pub async fn identity(&self) -> Result<Option<SignedInUser>, Error> {
        let (record, _) = self.shelf.load().await?;
        Ok(SignedInUser::from_record(&record))
    }

    /// Signs in, with somebody who is brought to a page.
    pub async fn login(&self, visit: &dyn OpenSignInPage) -> Result<SignedInUser, Error> {
        // A store that cannot keep the sign-in is found before the page is opened.
        self.shelf.prepare().await?;
        let known = self.discover().await?;
        let page = known.server.authorization_endpoint.clone().unwrap_or_default();
        let granted = self.visit(&known, visit).await;
        let granted =
            granted.map_err(|error| error.at_step(IdentityProviderStep::SignIn, &page))?;
        let account = self.account(&known, granted, None)?;
        let _lock = self.shelf.lock().await?;
        let record = self.record(account);
        self.shelf.save(&record).await?;
        SignedInUser::from_record(&record).ok_or_else(|| self.nobody_signed_in(None))
    }

    /// Signs out: the tokens are taken back where the provider lets us, and forgotten whatever came of that. `Ok(None)`
    /// if nobody was signed in.
    pub async fn logout(&self) -> Result<Option<Result<(), Error>>, Error> {
        let record = self.record_or_nothing().await;
        let network = (*self.network).clone();
        match SignIn::from_record(&self.store_key(), &record, self.store.clone(), network) {
            Some(sign_in) => sign_out(&sign_in).await,
            None => Ok(None),
        }
    }

    /// What is kept. What cannot be opened any more can still be forgotten.
    async fn record_or_nothing(&self) -> SignInRecord {
        let kept = self.shelf.load().await.map(|(record, _)| record).unwrap_or_default();
        let issuer = self.settings.issuer.clone();
        SignInRecord { server: issuer.clone(), url: issuer, ..kept }
    }

    fn record(&self, account: OAuthAccount) -> SignInRecord {
        let issuer = self.settings.issuer.clone();
        SignInRecord {
            server: issuer.clone(),
            url: issuer,
            account: Some(account),
            ..SignInRecord::default()
        }
    }

    async fn discover(&self) -> Result<DiscoveredProvider, Error> {
        let issuer = &self.settings.issuer;
        let discovered = async {
            let what = "the identity provider";
            let shown = || sanitize::sanitize_line(issuer).into_owned();
            let url = Url::parse(issuer).map_err(|_| Error::NotAUrl { what, url: shown() })?;
            let fetcher = Fetcher::new(&[&url], None, &self.network)?;
            let server = discover_server(IssuerSource::Named(issuer), &fetcher).await?;
            Ok((server, fetcher))
        };
        let (server, fetcher) = discovered
            .await
            .map_err(|error: Error| error.at_step(IdentityProviderStep::Provider, issuer))?;
        let client = self.client(&server).await?;
        Ok(DiscoveredProvider { server, client, fetcher })
    }

    async fn client(&self, server: &AuthorizationServer) -> Result<OAuthClient, Error> {
        let secret = match &self.helper {
            Some(helper) => Some(helper.run_for_secret().await.map_err(Error::ClientSecret)?),
            None => None,
        };
        let auth = client_identity::default_auth_method(server, secret.as_ref());
        Ok(OAuthClient { id: self.settings.client_id.clone(), secret, auth })
    }

    async fn visit(
        &self,
        known: &DiscoveredProvider,
        visit: &dyn OpenSignInPage,
    ) -> Result<IssuedToken, Error> {
        let DiscoveredProvider { server, client, fetcher } = known;
        if !server.offers_pkce() {
            return Err(Error::NoPkce { issuer: sanitize::sanitize_line(&server.issuer).into() });
        }
        let callback = CallbackListener::bind(self.settings.callback_port.unwrap_or(0)).await?;
        let scopes = self.scopes(server);
        let subject = &self.settings.issuer;
        let request =
            flow::AuthorizationRequest { server, client, resource: None, scopes: &scopes, subject };
        let code = flow::request_code(&request, &callback, visit, fetcher).await?;
        let redirect = callback.redirect();
        known
            .token_endpoint()
            .request_token(&[
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
        scopes::add_missing_scopes(&mut wanted, &self.settings.scopes);
        let offered = server.scopes_supported.iter().flatten();
        let lasting: Vec<_> =
            offered.filter(|scope| *scope == scopes::OFFLINE_ACCESS).cloned().collect();
        scopes::add_missing_scopes(&mut wanted, &lasting);
        wanted
    }

    fn nobody_signed_in(&self, why: Option<String>) -> Error {
        Error::NobodyThere {
            issuer: sanitize::sanitize_line(&self.settings.issuer).into_owned(),
            why,
        }
    }
}

/// Two that differ in issuer or client share no sign-in.
fn provider_key(settings: &switchboard_config::IdentityProvider) -> String {
    let mut hash = Sha256::new();
    for part in ["identity provider", &settings.issuer, &settings.client_id] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

// === impl DiscoveredProvider ===

impl DiscoveredProvider {
    fn token_endpoint(&self) -> TokenEndpoint<'_> {
        let AuthorizationServer { issuer, token_endpoint, .. } = &self.server;
        TokenEndpoint {
            fetcher: &self.fetcher,
            issuer,
            endpoint: token_endpoint,
            client: &self.client,
            signer: None,
            prover: None,
        }
    }
}
