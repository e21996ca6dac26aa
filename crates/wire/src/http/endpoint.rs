//! One URL with its headers and credentials, and the loop that sends a request to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::time::timeout;
use url::Url;

use super::answer::{self, Answer};
use super::classify;
use super::credentials::{
    Challenge, CredentialError, Credentials, Names, NoCredentials, Verdict, conceal,
};
use super::error::{Doing, HttpError, plain};
use super::pool::Pool;
use super::redirect::{Redirects, is_redirect};

/// How often one request is sent again because the credentials had something new to show.
const MAX_RETRIES: usize = 3;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Bounds on what is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body that is read whole, in bytes (16 MiB).
    pub max_body: usize,
    /// The longest single event, in bytes (16 MiB).
    pub max_event: usize,
}

/// What an endpoint adds to each request, and how long it waits.
#[derive(Clone)]
pub struct EndpointOptions {
    /// Sent with each request. The request's own headers and the credentials go before them.
    pub headers: HeaderMap,
    /// Asked before each request and after each refusal.
    pub credentials: Arc<dyn Credentials>,
    /// How long an answer may take to begin (60 s), for each attempt.
    pub first_byte: Duration,
    /// The longest pause within a body that is read whole (60 s). Event streams have none.
    pub idle: Duration,
    /// Bounds on what is received.
    pub limits: Limits,
}

/// One URL to talk to; cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Pool,
    url: Url,
    shown: Arc<str>,
    options: EndpointOptions,
}

/// A request that may have to be sent more than once.
struct Call {
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    redirects: Redirects,
    client: reqwest::Client,
}

// === impl Endpoint ===

impl Endpoint {
    /// An endpoint at `url`. A user and password in the URL become an `Authorization` header.
    pub fn new(pool: Pool, mut url: Url, mut options: EndpointOptions) -> Self {
        if let Some(basic) = take_userinfo(&mut url) {
            options.headers.entry(AUTHORIZATION).or_insert(basic);
        }
        conceal(&mut options.headers);
        let shown = plain(&url).into();
        Self {
            shared: Arc::new(Shared {
                pool,
                url,
                shown,
                options,
            }),
        }
    }

    /// The URL, without user and password.
    pub fn url(&self) -> &Url {
        &self.shared.url
    }

    /// POSTs one JSON text.
    pub async fn post(&self, body: Bytes, mut headers: HeaderMap) -> Result<Answer, HttpError> {
        headers.insert(ACCEPT, JSON_OR_EVENTS);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.answer(self.call(Method::POST, headers, body)).await
    }

    /// Opens an event stream with GET, after `last_event_id` when there is one.
    pub async fn get_events(
        &self,
        mut headers: HeaderMap,
        last_event_id: Option<&str>,
    ) -> Result<Answer, HttpError> {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        // An id that cannot be a header value cannot be resumed from; the stream starts afresh.
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::try_from(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.answer(self.call(Method::GET, headers, Bytes::new()))
            .await
    }

    /// DELETEs, and reports the status alone.
    pub async fn delete(&self, headers: HeaderMap) -> Result<StatusCode, HttpError> {
        let (mut response, _) = self
            .send(self.call(Method::DELETE, headers, Bytes::new()))
            .await?;
        answer::excerpt(&mut response).await;
        Ok(response.status())
    }

    /// Sends a GET that asks for another protocol; redirects are not followed.
    pub(crate) async fn upgrade(&self, headers: HeaderMap) -> Result<reqwest::Response, HttpError> {
        let call = Call {
            redirects: Redirects::Refuse,
            client: self.shared.pool.upgrade().clone(),
            ..self.call(Method::GET, headers, Bytes::new())
        };
        Ok(self.send(call).await?.0)
    }

    fn call(&self, method: Method, headers: HeaderMap, body: Bytes) -> Call {
        let client = self.shared.pool.http().clone();
        Call {
            method,
            headers,
            body,
            redirects: Redirects::Follow { seen: 0 },
            client,
        }
    }

    async fn answer(&self, call: Call) -> Result<Answer, HttpError> {
        let (response, doing) = self.send(call).await?;
        let options = &self.shared.options;
        Answer::read(response, doing, options.limits, options.idle).await
    }

    /// Sends until there is an answer that is neither a redirect to follow nor a refusal that new
    /// credentials may overcome.
    async fn send(&self, mut call: Call) -> Result<(reqwest::Response, Doing), HttpError> {
        let mut url = self.shared.url.clone();
        let mut doing = Doing::on(call.method.clone(), self.shared.shown.clone());
        let mut retries = 0;
        loop {
            let sent = self.authorize(&doing).await?;
            let mut response = self.attempt(&call, &url, &sent, &doing).await?;
            let status = response.status();
            if is_redirect(status) {
                url = call
                    .redirects
                    .next(status, response.headers(), &call.method, &url)?;
                doing = Doing::new(call.method.clone(), &url);
                answer::excerpt(&mut response).await;
            } else if is_refusal(status) {
                self.challenged(&mut response, sent, &doing, retries)
                    .await?;
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
        let after = self.shared.options.first_byte;
        match timeout(after, call.client.execute(request)).await {
            Ok(answer) => answer.map_err(|error| classify::sending(doing.clone(), error)),
            Err(_) => Err(HttpError::FirstByte {
                doing: doing.clone(),
                after,
            }),
        }
    }

    async fn authorize(&self, doing: &Doing) -> Result<HeaderMap, HttpError> {
        let mut headers = self
            .shared
            .options
            .credentials
            .headers()
            .await
            .map_err(|error| {
                let doing = doing.clone();
                match error {
                    CredentialError::SignIn(reason) => HttpError::SignIn {
                        doing,
                        reason,
                        challenges: Vec::new(),
                    },
                    CredentialError::Failed(source) => HttpError::Credentials { doing, source },
                }
            })?;
        conceal(&mut headers);
        Ok(headers)
    }

    /// `Ok` means: send it again.
    async fn challenged(
        &self,
        response: &mut reqwest::Response,
        sent: HeaderMap,
        doing: &Doing,
        retries: usize,
    ) -> Result<(), HttpError> {
        let text = answer::excerpt(response).await;
        let www_authenticate = challenges(response.headers());
        let challenge = Challenge {
            status: response.status(),
            www_authenticate,
            sent,
        };
        let verdict = if retries == MAX_RETRIES {
            Verdict::GiveUp
        } else {
            self.shared.options.credentials.challenged(&challenge).await
        };
        let (doing, challenges) = (doing.clone(), challenge.www_authenticate);
        match verdict {
            Verdict::Retry => Ok(()),
            Verdict::SignIn { reason } => Err(HttpError::SignIn {
                doing,
                reason,
                challenges,
            }),
            Verdict::GiveUp => Err(HttpError::Refused {
                doing,
                status: challenge.status,
                challenges,
                text,
            }),
        }
    }

    fn headers(&self, credentials: &HeaderMap, own: &HeaderMap) -> HeaderMap {
        let mut headers = self.shared.options.headers.clone();
        replace(&mut headers, credentials);
        replace(&mut headers, own);
        headers
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.shared.shown)
            .field("options", &self.shared.options)
            .finish()
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

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn challenges(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .map(str::to_owned)
        .collect()
}

/// Takes user and password out of the URL, where every log would show them.
fn take_userinfo(url: &mut Url) -> Option<HeaderValue> {
    use base64::Engine as _;
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| percent_decode(text);
    let pair = [
        decoded(url.username()),
        vec![b':'],
        decoded(url.password().unwrap_or_default()),
    ];
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair.concat());
    HeaderValue::try_from(format!("Basic {encoded}")).ok()
}

fn percent_decode(text: &str) -> Vec<u8> {
    // `form_urlencoded` reads `+` as a space, which user information does not mean.
    let text = text.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs
        .next()
        .map(|(name, _)| name.into_owned().into_bytes())
        .unwrap_or_default()
}

// === impl EndpointOptions ===

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            credentials: Arc::new(NoCredentials),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            limits: Limits::default(),
        }
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointOptions")
            .field("headers", &Names(&self.headers))
            .field("first_byte", &self.first_byte)
            .field("idle", &self.idle)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body: 16 << 20,
            max_event: 16 << 20,
        }
    }
}
