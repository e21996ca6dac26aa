//! The credentials for servers of the connector catalog: its bearer token, and a session id of this client.
//! Neither is sent to an origin that the settings do not name, whatever the catalog says.
//!
//! Used by `hub::credentials`. It does not sign in to servers (`switchboard_auth`).

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard_config::{
    ConnectorSource, Desired, HostContext, ResolveOptions, is_encrypted_or_local,
};
use switchboard_process::ProcessGuard;
use switchboard_wire::http::{
    ChallengeAction, CredentialChallenge, CredentialError, CredentialProvider, RequestLine,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use url::{Origin, Url};

use super::error::ConnectorsError;
use super::helper::TokenHelper;
use super::request::{ConnectorRequest, effective_connector_source};
use crate::options::SourcesOptions;

const SESSION_HEADER: HeaderName = HeaderName::from_static("x-mcp-client-session-id");

/// The credentials for servers of the connector catalog. The token helper runs when the token is first
/// needed, and again when a server refuses the token. Has no `Debug`, because the helper's environment may
/// hold secrets.
pub struct ConnectorCredentials {
    helper: Option<TokenHelper>,
    guard: ProcessGuard,
    deadline: Duration,
    session: HeaderValue,
    /// The origins that may get the token: the catalog's own, and those in the settings.
    origins: Vec<Origin>,
    /// The cached token. Concurrent requests wait for this lock, so that the helper runs once for all.
    token: Mutex<Option<HeaderValue>>,
}

/// Returns credentials for the connector catalog that the settings name.
pub(super) fn connector_credentials(
    desired: &Desired,
    surroundings: &HostContext,
    asked: &ResolveOptions,
    options: &SourcesOptions,
) -> Option<Arc<ConnectorCredentials>> {
    let source = effective_connector_source(desired, asked)?;
    let wanted = ConnectorRequest::new(&source.value, surroundings, &desired.settings.env);
    Some(Arc::new(ConnectorCredentials {
        helper: wanted.helper,
        guard: options.guard.clone(),
        deadline: options.timing.helper,
        session: new_session_id(),
        origins: token_origins(&source.value),
        token: Mutex::default(),
    }))
}

/// The origins that may get the token; never one without TLS, except on this machine.
fn token_origins(source: &ConnectorSource) -> Vec<Origin> {
    let named = std::iter::once(&source.url).chain(&source.token_origins);
    let safe = named.filter(|url| is_encrypted_or_local(url));
    safe.filter_map(|url| Some(http_origin(&Url::parse(url).ok()?))).collect()
}

/// The HTTP origin of a WebSocket URL: a WebSocket is opened with an HTTP request.
fn http_origin(url: &Url) -> Origin {
    let mut url = url.clone();
    let scheme = match url.scheme() {
        "wss" => "https",
        "ws" => "http",
        _ => return url.origin(),
    };
    // Cannot fail between two web schemes.
    let _ = url.set_scheme(scheme);
    url.origin()
}

// === impl ConnectorCredentials ===

impl ConnectorCredentials {
    /// Whether the token may be sent to `url`.
    pub fn covers(&self, url: &Url) -> bool {
        self.origins.contains(&http_origin(url))
    }

    async fn headers_for(&self, url: &Url) -> Result<HeaderMap, ConnectorsError> {
        let mut headers = HeaderMap::new();
        if !self.covers(url) {
            return Ok(headers);
        }
        headers.insert(SESSION_HEADER, self.session.clone());
        if let Some(helper) = &self.helper {
            let mut token = self.token.lock().await;
            if token.is_none() {
                *token = Some(self.run_helper(helper).await?);
            }
            headers.extend(token.clone().map(|token| (AUTHORIZATION, token)));
        }
        Ok(headers)
    }

    async fn run_helper(&self, helper: &TokenHelper) -> Result<HeaderValue, ConnectorsError> {
        helper.authorization(&self.guard, self.deadline, &CancellationToken::new()).await
    }

    /// Runs the token helper again to replace a refused token.
    async fn renew_token(&self, refused: Option<&HeaderValue>) -> ChallengeAction {
        let give_up =
            || ChallengeAction::SignIn { reason: "the catalog's token is refused".into() };
        let (Some(helper), Some(refused)) = (&self.helper, refused) else { return give_up() };
        let mut token = self.token.lock().await;
        if token.as_ref() != Some(refused) {
            return ChallengeAction::Retry; // Another request has renewed the token.
        }
        match self.run_helper(helper).await {
            Ok(printed) if printed != refused => {
                *token = Some(printed);
                ChallengeAction::Retry
            }
            Ok(_) => give_up(),
            Err(error) => ChallengeAction::SignIn { reason: error.to_string() },
        }
    }
}

impl CredentialProvider for ConnectorCredentials {
    fn headers<'a>(
        &'a self,
        request: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<HeaderMap, CredentialError>> {
        Box::pin(async move {
            let headers = self.headers_for(request.url).await;
            headers.map_err(|error| CredentialError::Failed(Box::new(error)))
        })
    }

    fn on_challenge<'a>(
        &'a self,
        challenge: &'a CredentialChallenge,
    ) -> BoxFuture<'a, ChallengeAction> {
        Box::pin(self.renew_token(challenge.sent.get(AUTHORIZATION)))
    }
}

/// Returns a new unique session id.
fn new_session_id() -> HeaderValue {
    let random = || RandomState::new().build_hasher().finish();
    let name = format!("{:016x}{:016x}", random(), random());
    HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("switchboard"))
}
