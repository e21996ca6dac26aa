//! A person signs in: they are brought to a page, and come back with a code that only we can use.

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
use authorization_response::ExpectedResponse;
pub(crate) use callback::CallbackListener;

/// How long somebody may take to sign in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(10);

/// Brings a person to a page. This crate opens no window and prints nothing.
pub trait OpenSignInPage: Send + Sync {
    /// Shows them the way to `url`. Ends when they are on it, or with what they brought back by hand; the sign-in may
    /// be over before that, and then this is dropped.
    fn open_page<'a>(
        &'a self,
        url: &'a Url,
    ) -> BoxFuture<'a, Result<SignInPageOutcome, Box<dyn std::error::Error + Send + Sync>>>;
}

/// What came of bringing somebody to a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInPageOutcome {
    /// They are on it, and will come back by themselves.
    Opened,
    /// They came back with this address, copied from their browser.
    Pasted(String),
}

/// What is asked for.
pub(crate) struct AuthorizationRequest<'a> {
    pub(crate) server: &'a AuthorizationServer,
    pub(crate) client: &'a OAuthClient,
    pub(crate) resource: Option<&'a str>,
    pub(crate) scopes: &'a [String],
    /// The name of the server, for the page that is shown at the end.
    pub(crate) subject: &'a str,
}

/// What somebody came back with.
pub(crate) struct AuthorizationCode {
    pub(crate) code: String,
    pub(crate) verifier: String,
}

/// Brings somebody to the authorization server and waits for them.
pub(crate) async fn request_code(
    request: &AuthorizationRequest<'_>,
    callback: &CallbackListener,
    visit: &dyn OpenSignInPage,
    fetcher: &Fetcher,
) -> Result<AuthorizationCode, Error> {
    let (state, verifier) = (random_text()?, random_text()?);
    let url = request.url(&callback.redirect(), &state, &verifier, fetcher)?;
    let expected = ExpectedResponse {
        state,
        issuer: request.server.issuer.clone(),
        names_itself: request.server.authorization_response_iss_parameter_supported,
    };
    let coming = callback.wait(&expected, request.subject);
    let visiting = async {
        match visit.open_page(&url).await.map_err(Error::Visit)? {
            SignInPageOutcome::Pasted(address) => {
                expected.read_code(&authorization_response::parse_pasted(&address)?)
            }
            SignInPageOutcome::Opened => std::future::pending().await,
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

// === impl Request ===

impl AuthorizationRequest<'_> {
    /// The page to sign in on.
    fn url(
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
            ("code_challenge", Some(challenge.as_str())),
            ("code_challenge_method", Some("S256")),
            ("scope", (!scope.is_empty()).then_some(scope.as_str())),
            ("resource", self.resource),
            // OpenID providers give a refresh token for `offline_access` only to those who ask anew.
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
