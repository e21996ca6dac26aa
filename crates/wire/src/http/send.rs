//! The send loop of a request: credentials, attempt, redirect or refusal, repeat.
//!
//! Used by `endpoint`. It does not read the body (`response`), and repeats no request that the
//! server may have run.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, Method, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::credentials::{
    ChallengeAction, CredentialChallenge, CredentialError, RequestLine, mark_sensitive,
};
use super::error::{ConnectFailure, HttpError, RequestSummary};
use super::options::EndpointOptions;
use super::pool::HttpPool;
use super::redirect::{RedirectMode, is_redirect};
use super::route::RequestPurpose;
use super::{classify, response};

/// The most repetitions of one request with new credentials.
const MAX_CREDENTIAL_RETRIES: usize = 3;

/// A request that may be sent more than once.
pub(super) struct ResendableRequest {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) redirects: RedirectMode,
    pub(super) pool: HttpPool,
    pub(super) purpose: RequestPurpose,
}

/// The URL, headers and credentials of an endpoint.
pub(super) struct EndpointTarget {
    pub(super) url: Url,
    /// The redacted URL, for display.
    pub(super) shown: Arc<str>,
    pub(super) options: EndpointOptions,
}

// === impl EndpointTarget ===

impl EndpointTarget {
    /// Sends until the response is neither a redirect to follow nor a refusal that new credentials
    /// may overcome.
    pub(super) async fn send(
        &self,
        mut call: ResendableRequest,
    ) -> Result<(reqwest::Response, RequestSummary), HttpError> {
        let mut url = self.url.clone();
        let mut doing = RequestSummary::from_parts(call.method.clone(), self.shown.clone());
        let mut retries = 0;
        loop {
            let sent = self.authorize(&call.method, &url, &doing).await?;
            let mut response = self.attempt(&call, &url, &sent, &doing).await?;
            self.options.credentials.on_response(response.headers());
            let status = response.status();
            if is_redirect(status) {
                url = call.redirects.next(status, response.headers(), &call.method, &url)?;
                doing = RequestSummary::new(call.method.clone(), &url);
                response::read_excerpt(&mut response).await;
            } else if is_refusal(status) {
                let remote = call.pool.routes().remote(&url, &response);
                self.handle_challenge(&mut response, (sent, remote), &doing, retries).await?;
                retries += 1;
            } else {
                return Ok((response, doing));
            }
        }
    }

    async fn attempt(
        &self,
        call: &ResendableRequest,
        url: &Url,
        sent: &HeaderMap,
        doing: &RequestSummary,
    ) -> Result<reqwest::Response, HttpError> {
        let mut request = reqwest::Request::new(call.method.clone(), url.clone());
        *request.headers_mut() = self.headers(sent, &call.headers);
        if !call.body.is_empty() {
            *request.body_mut() = Some(call.body.clone().into());
        }
        let after = self.options.first_byte;
        let executing = async {
            let client = call.pool.routes().client(url, call.purpose).await;
            let client = client.map_err(|error| forbidden(doing.clone(), &error))?;
            client
                .execute(request)
                .await
                .map_err(|error| classify::send_error(doing.clone(), error))
        };
        match timeout(after, executing).await {
            Ok(answer) => answer,
            Err(_) => Err(HttpError::FirstByte { doing: doing.clone(), after }),
        }
    }

    async fn authorize(
        &self,
        method: &Method,
        url: &Url,
        doing: &RequestSummary,
    ) -> Result<HeaderMap, HttpError> {
        let given = self.options.credentials.headers(RequestLine { method, url }).await;
        let mut headers = given.map_err(|error| no_credentials_error(error, doing.clone()))?;
        mark_sensitive(&mut headers);
        Ok(headers)
    }

    /// Handles a 401 or 403. `Ok` means: repeat the request.
    async fn handle_challenge(
        &self,
        response: &mut reqwest::Response,
        (sent, remote): (HeaderMap, Option<IpAddr>),
        doing: &RequestSummary,
        retries: usize,
    ) -> Result<(), HttpError> {
        let text = response::read_excerpt(response).await;
        let www_authenticate = www_authenticate_values(response.headers());
        let status = response.status();
        let challenge = CredentialChallenge { status, www_authenticate, sent, retries, remote };
        let verdict = if retries == MAX_CREDENTIAL_RETRIES {
            ChallengeAction::GiveUp
        } else {
            self.options.credentials.on_challenge(&challenge).await
        };
        let (doing, challenges) = (doing.clone(), challenge.www_authenticate);
        match verdict {
            ChallengeAction::Retry => Ok(()),
            ChallengeAction::SignIn { reason } => {
                Err(HttpError::SignIn { doing, reason, challenges })
            }
            ChallengeAction::Failed { reason } => {
                Err(HttpError::Credentials { doing, source: reason.into() })
            }
            ChallengeAction::GiveUp => {
                Err(HttpError::Refused { doing, status: challenge.status, challenges, text })
            }
        }
    }

    fn headers(&self, credentials: &HeaderMap, own: &HeaderMap) -> HeaderMap {
        let mut headers = self.options.headers.clone();
        replace(&mut headers, credentials);
        replace(&mut headers, own);
        headers
    }
}

/// Merges `from` into `into`; a name in both keeps only the values of `from`.
fn replace(into: &mut HeaderMap, from: &HeaderMap) {
    for name in from.keys() {
        into.remove(name);
    }
    for (name, value) in from {
        into.append(name, value.clone());
    }
}

/// The error for a forbidden address: the request was not sent.
fn forbidden(doing: RequestSummary, error: &std::io::Error) -> HttpError {
    let source = error.to_string().into();
    HttpError::Connect { doing, kind: ConnectFailure::Unreachable, source }
}

fn no_credentials_error(error: CredentialError, doing: RequestSummary) -> HttpError {
    match error {
        CredentialError::SignIn(reason) => {
            HttpError::SignIn { doing, reason, challenges: Vec::new() }
        }
        CredentialError::Failed(source) => HttpError::Credentials { doing, source },
    }
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn www_authenticate_values(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
}
