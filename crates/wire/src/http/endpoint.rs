//! An HTTP endpoint: one URL with its headers and credentials, and the requests to it.
//!
//! Used by `client::http_channel`, `link::sse`, `ws` and `auth`. It does not follow redirects or
//! retry (`send`).

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

use super::credentials::mark_sensitive;
use super::error::{HttpError, redact_url};
use super::options::EndpointOptions;
use super::pool::HttpPool;
use super::redirect::RedirectMode;
use super::response::{self, HttpResponse};
use super::route::RequestPurpose;
use super::send::{EndpointTarget, ResendableRequest};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// One URL to talk to; cheap to clone.
#[derive(Clone)]
pub struct HttpEndpoint {
    pool: HttpPool,
    target: Arc<EndpointTarget>,
}

// === impl HttpEndpoint ===

impl HttpEndpoint {
    /// An endpoint at `url`. A user and password in the URL become an `Authorization` header.
    pub fn new(pool: HttpPool, mut url: Url, mut options: EndpointOptions) -> Self {
        if let Some(basic) = take_userinfo(&mut url) {
            options.headers.entry(AUTHORIZATION).or_insert(basic);
        }
        mark_sensitive(&mut options.headers);
        let shown = redact_url(&url).into();
        let target = Arc::new(EndpointTarget { url, shown, options });
        Self { pool, target }
    }

    /// The URL, without user and password.
    pub fn url(&self) -> &Url {
        &self.target.url
    }

    /// POSTs one JSON text.
    pub async fn post(
        &self,
        body: Bytes,
        mut headers: HeaderMap,
    ) -> Result<HttpResponse, HttpError> {
        headers.insert(ACCEPT, JSON_OR_EVENTS);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.answer(self.call(Method::POST, headers, body)).await
    }

    /// POSTs a form, for an answer in JSON.
    pub async fn post_form(
        &self,
        form: Bytes,
        mut headers: HeaderMap,
    ) -> Result<HttpResponse, HttpError> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form_type);
        self.answer(self.call(Method::POST, headers, form)).await
    }

    /// GETs a JSON text.
    pub async fn get(&self, mut headers: HeaderMap) -> Result<HttpResponse, HttpError> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        self.answer(self.call(Method::GET, headers, Bytes::new())).await
    }

    /// Opens an event stream with GET, after `last_event_id` if it is given.
    pub async fn get_events(
        &self,
        mut headers: HeaderMap,
        last_event_id: Option<&str>,
    ) -> Result<HttpResponse, HttpError> {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        // An id that is no valid header value cannot be resumed from; the stream starts anew.
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::try_from(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        self.answer(self.call(Method::GET, headers, Bytes::new())).await
    }

    /// Sends a DELETE and returns the status.
    pub async fn delete(&self, headers: HeaderMap) -> Result<StatusCode, HttpError> {
        let call = self.call(Method::DELETE, headers, Bytes::new());
        let (mut response, _) = self.target.send(call).await?;
        response::read_excerpt(&mut response).await;
        Ok(response.status())
    }

    /// Sends a GET that asks for a protocol upgrade; redirects are not followed.
    pub(crate) async fn upgrade(&self, headers: HeaderMap) -> Result<reqwest::Response, HttpError> {
        let call = ResendableRequest {
            redirects: RedirectMode::Refuse,
            purpose: RequestPurpose::Upgrade,
            ..self.call(Method::GET, headers, Bytes::new())
        };
        Ok(self.target.send(call).await?.0)
    }

    fn call(&self, method: Method, headers: HeaderMap, body: Bytes) -> ResendableRequest {
        let (pool, purpose) = (self.pool.clone(), RequestPurpose::Exchange);
        ResendableRequest {
            method,
            headers,
            body,
            redirects: RedirectMode::Follow { seen: 0 },
            pool,
            purpose,
        }
    }

    async fn answer(&self, call: ResendableRequest) -> Result<HttpResponse, HttpError> {
        let (response, doing) = self.target.send(call).await?;
        let options = &self.target.options;
        // The address is the server's even after a redirect: redirects stay within the origin.
        let remote = self.pool.routes().remote_if_restricted(&self.target.url, &response);
        let answer = HttpResponse::read(response, doing, options.limits, options.idle).await?;
        Ok(HttpResponse { remote, ..answer })
    }
}

impl fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.target.shown)
            .field("options", &self.target.options)
            .finish_non_exhaustive()
    }
}

/// Removes user and password from the URL, since logs show URLs.
fn take_userinfo(url: &mut Url) -> Option<HeaderValue> {
    use base64::Engine as _;
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let pair = [
        percent_decode(url.username()),
        vec![b':'],
        percent_decode(url.password().unwrap_or_default()),
    ];
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair.concat());
    HeaderValue::try_from(format!("Basic {encoded}")).ok()
}

fn percent_decode(text: &str) -> Vec<u8> {
    // Form decoding gives `+` and `&` a meaning that user information does not; `=` is always
    // encoded there.
    let text = text.replace('+', "%2B").replace('&', "%26");
    let mut pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs.next().map(|(name, _)| name.into_owned().into_bytes()).unwrap_or_default()
}
