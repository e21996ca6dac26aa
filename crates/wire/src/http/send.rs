//! The loop that sends a request: credentials, attempt, redirect or refusal, and again.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, Method, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::credentials::{Challenge, CredentialError, Outgoing, Verdict, conceal};
use super::error::{ConnectKind, Doing, HttpError};
use super::options::EndpointOptions;
use super::pool::Pool;
use super::redirect::{Redirects, is_redirect};
use super::route::Purpose;
use super::{answer, classify};

/// How often one request is sent again because the credentials had something new to show.
const MAX_RETRIES: usize = 3;

/// A request that may have to be sent more than once.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) redirects: Redirects,
    pub(super) pool: Pool,
    pub(super) purpose: Purpose,
}

/// Where requests go, and what goes with them.
pub(super) struct Target {
    pub(super) url: Url,
    /// The URL as it may be shown.
    pub(super) shown: Arc<str>,
    pub(super) options: EndpointOptions,
}

// === impl Target ===

impl Target {
    /// Sends until there is an answer that is neither a redirect to follow nor a refusal that new
    /// credentials may overcome.
    pub(super) async fn send(
        &self,
        mut call: Call,
    ) -> Result<(reqwest::Response, Doing), HttpError> {
        let mut url = self.url.clone();
        let mut doing = Doing::on(call.method.clone(), self.shown.clone());
        let mut retries = 0;
        loop {
            let sent = self.authorize(&call.method, &url, &doing).await?;
            let mut response = self.attempt(&call, &url, &sent, &doing).await?;
            self.options.credentials.answered(response.headers());
            let status = response.status();
            if is_redirect(status) {
                url = call.redirects.next(status, response.headers(), &call.method, &url)?;
                doing = Doing::new(call.method.clone(), &url);
                answer::excerpt(&mut response).await;
            } else if is_refusal(status) {
                let remote = call.pool.routes().remote(&url, &response);
                self.challenged(&mut response, (sent, remote), &doing, retries).await?;
                retries += 1;
            } else {
                return Ok((response, doing));
            }
        }
    }

    async fn attempt(
        &self,
        call: &Call,
        url: &Url,
        sent: &HeaderMap,
        doing: &Doing,
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
            client.execute(request).await.map_err(|error| classify::sending(doing.clone(), error))
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
        doing: &Doing,
    ) -> Result<HeaderMap, HttpError> {
        let given = self.options.credentials.headers(Outgoing { method, url }).await;
        let mut headers = given.map_err(|error| no_headers(error, doing.clone()))?;
        conceal(&mut headers);
        Ok(headers)
    }

    /// `Ok` means: send it again.
    async fn challenged(
        &self,
        response: &mut reqwest::Response,
        (sent, remote): (HeaderMap, Option<IpAddr>),
        doing: &Doing,
        retries: usize,
    ) -> Result<(), HttpError> {
        let text = answer::excerpt(response).await;
        let www_authenticate = challenges(response.headers());
        let status = response.status();
        let challenge = Challenge { status, www_authenticate, sent, retries, remote };
        let verdict = if retries == MAX_RETRIES {
            Verdict::GiveUp
        } else {
            self.options.credentials.challenged(&challenge).await
        };
        let (doing, challenges) = (doing.clone(), challenge.www_authenticate);
        match verdict {
            Verdict::Retry => Ok(()),
            Verdict::SignIn { reason } => Err(HttpError::SignIn { doing, reason, challenges }),
            Verdict::Failed { reason } => {
                Err(HttpError::Credentials { doing, source: reason.into() })
            }
            Verdict::GiveUp => {
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

/// Puts `from` into `into`; a name in both keeps only the values of `from`, all of them.
fn replace(into: &mut HeaderMap, from: &HeaderMap) {
    for name in from.keys() {
        into.remove(name);
    }
    for (name, value) in from {
        into.append(name, value.clone());
    }
}

/// An address that may not be reached: nothing was sent.
fn forbidden(doing: Doing, error: &std::io::Error) -> HttpError {
    let source = error.to_string().into();
    HttpError::Connect { doing, kind: ConnectKind::Unreachable, source }
}

fn no_headers(error: CredentialError, doing: Doing) -> HttpError {
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

fn challenges(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    values.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
}
