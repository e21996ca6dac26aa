//! The client of an organisation's identity provider: the user signs in there once, and every server whose
//! authorization server trusts the provider lets the user in without another window. Each principal signs in there by
//! itself.
//!
//! Used by `switchboard xaa` and by `SignIn` for entries with `oauth.xaa`.
//!
//! ```text
//! sign-in (OpenID) ─ id token ─ exchange (RFC 8693) ─ a grant for one server ─► grant.rs presents it (RFC 7523)
//!                       └ renewed when it ends
//! ```
//!
//! The sign-in is stored as a `SignInRecord`, like that of a server. This module knows no servers.

mod exchange;
mod identity;
mod renewal;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use switchboard_wire::http::HttpPoolOptions;
use switchboard_wire::sanitize;

use crate::account::{OAuthAccount, OAuthClient, SignInRecord};
use crate::client_registration as client_identity;
use crate::error::{Error, IdentityProviderStep};
use crate::fetch::Fetcher;
use crate::flow::{self, CallbackListener, OpenSignInPage, ReturnAddress};
use crate::helper::HelperCommand;
use crate::metadata::{AuthorizationServer, discover_issuer};
use crate::scopes;
use crate::sign_in::SignIn;
use crate::sign_out::sign_out;
use crate::store::{RecordStamp, SignInStore, SignInStoreError, StoredRecord};
use crate::token::{IssuedToken, TokenEndpoint};
pub(crate) use exchange::GrantTarget;
pub use identity::SignedInUser;

/// An organisation's identity provider as the settings name it, with the stored sign-in.
#[derive(Clone)]
pub struct IdentityProviderClient {
    settings: Arc<switchboard_config::IdentityProvider>,
    /// The id of the principal that signs in; `None` for the local one.
    principal: Option<Arc<str>>,
    /// Prints the client secret, for a confidential client.
    helper: Option<Arc<HelperCommand>>,
    store: Arc<dyn SignInStore>,
    shelf: StoredRecord,
    network: Arc<HttpPoolOptions>,
}

/// The metadata of an OpenID provider, and our client there.
pub(crate) struct DiscoveredProvider {
    pub(crate) server: AuthorizationServer,
    pub(crate) client: OAuthClient,
    pub(crate) fetcher: Fetcher,
}

// === impl IdentityProviderClient ===

impl IdentityProviderClient {
    /// The provider that `settings` name; `helper` runs their `clientSecretHelper`.
    pub fn new(
        settings: switchboard_config::IdentityProvider,
        helper: Option<HelperCommand>,
        store: Arc<dyn SignInStore>,
        network: HttpPoolOptions,
    ) -> Self {
        let shelf = StoredRecord::new(store.clone(), &provider_key(&settings, None));
        let (settings, helper) = (Arc::new(settings), helper.map(Arc::new));
        let network = Arc::new(network);
        Self { settings, principal: None, helper, store, shelf, network }
    }

    /// The same provider, for the principal with this id; `None` for the local one. Each has a sign-in of its own.
    #[must_use]
    pub(crate) fn for_principal(self, principal: Option<&str>) -> Self {
        let key = provider_key(&self.settings, principal);
        let record = StoredRecord::new(self.store.clone(), &key);
        Self { principal: principal.map(Into::into), shelf: record, ..self }
    }

    /// The key of the provider's record in the store.
    pub fn store_key(&self) -> String {
        provider_key(&self.settings, self.principal.as_deref())
    }

    /// The provider's issuer.
    pub fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// The stamp of the stored record; changes with every sign-in and sign-out.
    pub(crate) fn stamp(&self) -> Option<RecordStamp> {
        self.shelf.stamp()
    }

    /// The id of the current sign-in; `None` if no user is signed in.
    pub(crate) async fn sign_in_id(&self) -> Result<Option<String>, SignInStoreError> {
        let (record, _) = self.shelf.load().await?;
        Ok(record.account.map(|account| account.sign_in_id))
    }

    /// The signed-in user.
    pub async fn identity(&self) -> Result<Option<SignedInUser>, Error> {
        let (record, _) = self.shelf.load().await?;
        Ok(SignedInUser::from_record(&record))
    }

    /// Signs in with the user, on a page.
    pub async fn login(&self, visit: &dyn OpenSignInPage) -> Result<SignedInUser, Error> {
        // Finds out before the page is opened whether the store can hold the sign-in.
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

    /// Signs out: revokes the tokens if the provider supports it, and deletes the record in any case.
    /// `Ok(None)` if no user was signed in.
    pub async fn logout(&self) -> Result<Option<Result<(), Error>>, Error> {
        let record = self.record_or_nothing().await;
        let network = (*self.network).clone();
        match SignIn::from_record(&self.store_key(), &record, self.store.clone(), network) {
            Some(sign_in) => sign_out(&sign_in).await,
            None => Ok(None),
        }
    }

    /// Returns the stored record, or an empty one if it cannot be opened: an unreadable record can still be
    /// removed.
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
            principal: self.principal.as_deref().map(str::to_owned),
            account: Some(account),
            ..SignInRecord::default()
        }
    }

    async fn discover(&self) -> Result<DiscoveredProvider, Error> {
        let issuer = &self.settings.issuer;
        let (server, fetcher) = discover_issuer("the identity provider", issuer, &self.network)
            .await
            .map_err(|error| error.at_step(IdentityProviderStep::Provider, issuer))?;
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
        let callback = match visit.redirect() {
            Some(page) => ReturnAddress::Page(page.to_owned()),
            None => {
                let port = self.settings.callback_port.unwrap_or(0);
                ReturnAddress::Port(CallbackListener::bind(port).await?)
            }
        };
        let scopes = self.scopes(server);
        let subject = &self.settings.issuer;
        let request = flow::AuthorizationRequest {
            server,
            client,
            resource: None,
            scopes: &scopes,
            nonce: None,
            subject,
        };
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

    /// The scopes to request: `openid` for an ID token, `offline_access` for a refresh token.
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
        Error::NotSignedIn {
            issuer: sanitize::sanitize_line(&self.settings.issuer).into_owned(),
            why,
        }
    }
}

/// The store key: settings that differ in issuer or client share no sign-in, and principals share none.
fn provider_key(
    settings: &switchboard_config::IdentityProvider,
    principal: Option<&str>,
) -> String {
    let mut hash = Sha256::new();
    let parts = ["identity provider", &settings.issuer, &settings.client_id];
    for part in parts.into_iter().chain(principal) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

// === impl DiscoveredProvider ===

impl DiscoveredProvider {
    pub(crate) fn token_endpoint(&self) -> TokenEndpoint<'_> {
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
