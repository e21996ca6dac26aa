//! Signing a browser in with an issuer (OpenID Connect, authorization code with PKCE), in two halves: to the issuer's
//! page, and back to a page of this program.
//!
//! Used by `hub::access`, which keeps the [`IssuerVisit`] of a browser between the two. It opens no server, and stores
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_wire::http::HttpPoolOptions;
use switchboard_wire::sanitize;
use tokio::time::Instant;
use url::Url;

use crate::account::OAuthClient;
use crate::assertion::random_text;
use crate::client_registration::default_auth_method;
use crate::error::Error;
use crate::flow::{AuthorizationRequest, ExpectedResponse};
use crate::headers::bearer_header;
use crate::metadata::{AuthorizationServer, discover_issuer};
use crate::organisation::DiscoveredProvider;
use crate::secret::Secret;
use crate::token::IssuedToken;
use crate::verify::{IdTokenVerifier, VerifiedToken};

/// How long the metadata of the issuer are used before they are fetched again.
const MAX_METADATA_AGE: Duration = Duration::from_secs(10 * 60);
/// The scope without which a sign-in says nothing about the person.
const OPENID_SCOPE: &str = "openid";
/// The scope of the person's name.
const PROFILE_SCOPE: &str = "profile";
const USERINFO_NAME: &str = "what the issuer says about the person";

/// Our client at an issuer.
#[derive(Clone, Debug)]
pub struct IssuerClient {
    /// The issuer.
    pub issuer: String,
    /// The client id.
    pub client_id: String,
    /// The client secret, for a confidential client.
    pub client_secret: Option<Secret<String>>,
    /// The claim that lists the groups of a person.
    pub groups_claim: String,
}

/// Signs browsers in with one issuer.
pub struct BrowserSignInClient {
    client: IssuerClient,
    verifier: IdTokenVerifier,
    network: HttpPoolOptions,
    known: Mutex<Option<(Instant, Arc<DiscoveredProvider>)>>,
}

/// What has to be remembered of a browser while it is at the issuer's page. Its holder keeps it from everybody, that
/// browser included.
#[derive(Serialize, Deserialize)]
pub struct IssuerVisit {
    state: String,
    nonce: String,
    verifier: String,
}

// === impl BrowserSignInClient ===

impl BrowserSignInClient {
    /// A client whose issuer is contacted with the first browser.
    pub fn new(client: IssuerClient, network: HttpPoolOptions) -> Self {
        let IssuerClient { issuer, client_id, groups_claim, .. } = &client;
        let verifier = IdTokenVerifier::new(issuer, client_id, groups_claim, network.clone());
        Self { client, verifier, network, known: Mutex::default() }
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.client.issuer
    }

    /// Returns the issuer's page for a browser that is to come back to `redirect`.
    pub async fn begin(&self, redirect: &str) -> Result<(Url, IssuerVisit), Error> {
        let known = self.discover().await?;
        let DiscoveredProvider { server, client, fetcher } = &*known;
        if !server.offers_pkce() {
            let issuer = sanitize::sanitize_line(&server.issuer).into_owned();
            return Err(Error::NoPkce { issuer });
        }
        let visit = IssuerVisit::new()?;
        let request = AuthorizationRequest {
            server,
            client,
            resource: None,
            scopes: &self.scopes(server),
            nonce: Some(&visit.nonce),
            subject: &self.client.issuer,
        };
        let url = request.url(redirect, &visit.state, &visit.verifier, fetcher)?;
        Ok((url, visit))
    }

    /// Returns the person whose browser came back to `redirect` with this query.
    pub async fn finish(
        &self,
        visit: &IssuerVisit,
        redirect: &str,
        query: &str,
    ) -> Result<VerifiedToken, Error> {
        let known = self.discover().await?;
        let code = ExpectedResponse::new(&known.server, visit.state.clone()).read_query(query)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", redirect),
            ("code_verifier", visit.verifier.as_str()),
        ];
        let issued = known.token_endpoint().request_token(&form).await?;
        self.read_person(&known, &issued, &visit.nonce).await
    }

    async fn read_person(
        &self,
        known: &DiscoveredProvider,
        issued: &IssuedToken,
        nonce: &str,
    ) -> Result<VerifiedToken, Error> {
        let id_token = issued.id_token.as_ref().ok_or_else(|| Error::NoIdentityToken {
            issuer: sanitize::sanitize_line(&known.server.issuer).into_owned(),
            why: "there is no id token in its answer",
        })?;
        let mut verified = self.verifier.verify(id_token.expose(), nonce).await?;
        // Many issuers put names and groups into access tokens, but not into ID tokens.
        if !self.verifier.describes_person(&verified)
            && let Some(endpoint) = &known.server.userinfo_endpoint
        {
            verified.add_userinfo(userinfo(known, endpoint, &issued.access).await?)?;
        }
        Ok(self.verifier.person(&verified)?)
    }

    async fn discover(&self) -> Result<Arc<DiscoveredProvider>, Error> {
        let known = self.known.lock().clone();
        if let Some((fetched, known)) = known
            && fetched.elapsed() < MAX_METADATA_AGE
        {
            return Ok(known);
        }
        let IssuerClient { issuer, client_id, client_secret, .. } = &self.client;
        let (server, fetcher) = discover_issuer("the issuer", issuer, &self.network).await?;
        let auth = default_auth_method(&server, client_secret.as_ref());
        let client = OAuthClient { id: client_id.clone(), secret: client_secret.clone(), auth };
        let known = Arc::new(DiscoveredProvider { server, client, fetcher });
        *self.known.lock() = Some((Instant::now(), Arc::clone(&known)));
        Ok(known)
    }

    /// The scopes of a sign-in: names and groups are asked for where the issuer has a scope for them.
    fn scopes(&self, server: &AuthorizationServer) -> Vec<String> {
        let offered = server.scopes_supported.as_deref().unwrap_or_default();
        let described = [PROFILE_SCOPE, &self.client.groups_claim];
        let described = described.into_iter().filter(|scope| offered.iter().any(|it| it == scope));
        [OPENID_SCOPE].into_iter().chain(described).map(str::to_owned).collect()
    }
}

/// Fetches what the issuer says about the person of an access token.
async fn userinfo(
    known: &DiscoveredProvider,
    endpoint: &str,
    access: &Secret<String>,
) -> Result<Map<String, Value>, Error> {
    let token = bearer_header(access).map(|value| (AUTHORIZATION, value));
    let headers: HeaderMap = token.into_iter().collect();
    known.fetcher.get(USERINFO_NAME, endpoint, headers).await?.read(USERINFO_NAME, endpoint)
}

// === impl IssuerVisit ===

impl IssuerVisit {
    fn new() -> Result<Self, Error> {
        let (state, nonce, verifier) = (random_text()?, random_text()?, random_text()?);
        Ok(Self { state, nonce, verifier })
    }

    /// Tells the visit from all others; the issuer's page gets it, too.
    pub fn state(&self) -> &str {
        &self.state
    }
}
