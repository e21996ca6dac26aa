//! The authorization code grant with PKCE: the user signs in on a page of the authorization server and comes
//! back with a code that only we can redeem.
//!
//! Used by `sign_in` and `organisation`, and in two halves by `browser_sign_in`. It does not open the page
//! ([`OpenSignInPage`]) and does not redeem the code (`token`).

mod authorization_response;
mod callback;
mod result_page;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use url::Url;

use crate::account::OAuthClient;
use crate::assertion::random_text;
use crate::error::Error;
use crate::fetch::Fetcher;
use crate::metadata::AuthorizationServer;
pub(crate) use authorization_response::ExpectedResponse;
pub(crate) use callback::CallbackListener;

/// How long the user may take to sign in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(10);

/// Opens a page for the user. This crate opens no window and prints nothing.
pub trait OpenSignInPage: Send + Sync {
    /// The page of this program that the authorization server sends the browser back to, whose address `open_page` then
    /// returns. `None` for a port of this machine.
    fn redirect(&self) -> Option<&str> {
        None
    }

    /// Shows the user the page at `url`. Returns when the page is open, or with the address that the user
    /// pasted. Dropped if the sign-in ends earlier.
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>>;
}

/// The result of opening a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInPageOutcome {
    /// The page is open, and the browser will be redirected to the callback port.
    BrowserOpened,
    /// The user pasted this address from the browser.
    Pasted(String),
    /// A browser of somebody else used the link to the page.
    Misused {
        /// The person or service, as the program knows them.
        by: String,
    },
}

/// Where the authorization server sends the browser back.
pub(crate) enum ReturnAddress {
    /// A port of this machine.
    Port(CallbackListener),
    /// A page of this program, which passes on what the browser came back with.
    Page(String),
}

/// The parameters of an authorization request.
pub(crate) struct AuthorizationRequest<'a> {
    pub(crate) server: &'a AuthorizationServer,
    pub(crate) client: &'a OAuthClient,
    pub(crate) resource: Option<&'a str>,
    pub(crate) scopes: &'a [String],
    /// The value that an ID token has to repeat.
    pub(crate) nonce: Option<&'a str>,
    /// The server's name, for the result page.
    pub(crate) subject: &'a str,
}

/// A code with the values that redeem it.
pub(crate) struct AuthorizationCode {
    pub(crate) code: String,
    pub(crate) verifier: String,
}

/// Opens the authorization page and waits for the code.
pub(crate) async fn request_code(
    request: &AuthorizationRequest<'_>,
    callback: &ReturnAddress,
    visit: &dyn OpenSignInPage,
    fetcher: &Fetcher,
) -> Result<AuthorizationCode, Error> {
    let (state, verifier) = (random_text()?, random_text()?);
    let url = request.url(&callback.redirect(), &state, &verifier, fetcher)?;
    let expected = ExpectedResponse::new(request.server, state);
    let coming = callback.wait(&expected, request.subject);
    let visiting = async {
        match visit.open_page(&url).await.map_err(Error::OpenPage)? {
            SignInPageOutcome::Pasted(address) => {
                expected.read_code(&authorization_response::parse_pasted(&address)?)
            }
            SignInPageOutcome::BrowserOpened => std::future::pending().await,
            SignInPageOutcome::Misused { by } => Err(Error::LinkMisused { by }),
        }
    };
    let back = async {
        tokio::select! {
            code = coming => code,
            code = visiting => code,
        }
    };
    let minutes = SIGN_IN_TIMEOUT.as_secs() / 60;
    let code = timeout(SIGN_IN_TIMEOUT, back).await.map_err(|_| Error::Abandoned { minutes })??;
    Ok(AuthorizationCode { code, verifier })
}

// === impl ReturnAddress ===

impl ReturnAddress {
    pub(crate) fn redirect(&self) -> String {
        match self {
            Self::Port(callback) => callback.redirect(),
            Self::Page(url) => url.clone(),
        }
    }

    /// Waits for the expected response at a port of this machine; does not end for a page.
    async fn wait(&self, expected: &ExpectedResponse, subject: &str) -> Result<String, Error> {
        match self {
            Self::Port(callback) => callback.wait(expected, subject).await,
            Self::Page(_) => std::future::pending().await,
        }
    }
}

// === impl AuthorizationRequest ===

impl AuthorizationRequest<'_> {
    /// The URL of the authorization page.
    pub(crate) fn url(
        &self,
        redirect: &str,
        state: &str,
        verifier: &str,
        fetcher: &Fetcher,
    ) -> Result<Url, Error> {
        let endpoint = self.server.authorization_endpoint.as_deref().unwrap_or_default();
        let mut url = fetcher.check_url("the page to sign in on", endpoint)?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        let scope = self.scopes.join(" ");
        let pairs = [
            ("response_type", Some("code")),
            ("client_id", Some(self.client.id.as_str())),
            ("redirect_uri", Some(redirect)),
            ("state", Some(state)),
            ("nonce", self.nonce),
            ("code_challenge", Some(challenge.as_str())),
            ("code_challenge_method", Some("S256")),
            ("scope", (!scope.is_empty()).then_some(scope.as_str())),
            ("resource", self.resource),
            // OpenID providers issue a refresh token for `offline_access` only with `prompt=consent`.
            (
                "prompt",
                self.scopes.iter().any(|scope| scope == "offline_access").then_some("consent"),
            ),
        ];
        let given = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
        url.query_pairs_mut().extend_pairs(given);
        Ok(url)
    }
}
