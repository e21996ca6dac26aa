//! The HTTP client for OAuth requests, with limits: small bodies, short timeouts, and only URLs in network
//! zones that the server may name.
//!
//! Used by `metadata`, `client_registration`, `token`, `flow`, `organisation`, `browser_sign_in` and
//! `verify::issuer_keys`. It does not send MCP requests (`switchboard_wire`).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use switchboard_wire::http::{
    AddressFilter, CredentialChallenge, EndpointOptions, HttpEndpoint, HttpError, HttpPool,
    HttpPoolOptions, HttpResponse, ResponseBody, ResponseLimits,
};
use switchboard_wire::sanitize;
use url::Url;

use crate::chosen_hosts::ChosenHosts;
use crate::error::{DocumentError, Error};
use crate::examine::redact_url;
use crate::network_zone::NetworkZone;
use crate::refusal_observer::RefusalObserver;

/// Larger than any document of an authorization server.
const MAX_BODY_BYTES: usize = 256 << 10;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// Sends requests on behalf of one server, and none to a URL that this server may not name.
#[derive(Clone, Debug)]
pub(crate) struct Fetcher {
    chosen: Arc<ChosenHosts>,
    /// Whether the user reaches the server itself without TLS.
    plain: bool,
    pool: HttpPool,
}

/// A response of any status.
pub(crate) struct FetchReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: Bytes,
}

// === impl Fetcher ===

impl Fetcher {
    /// Creates a fetcher for the chosen hosts of `urls`. `first` is the recorded zone of the first host.
    pub(crate) fn new(
        urls: &[&Url],
        first: Option<NetworkZone>,
        options: &HttpPoolOptions,
    ) -> Result<Self, Error> {
        let chosen = Arc::new(ChosenHosts::new(urls, first));
        let judge = chosen.clone();
        let judge = move |host: &str, address| judge.may_reach(host, address);
        let options =
            HttpPoolOptions { reach: AddressFilter::Only(Arc::new(judge)), ..options.clone() };
        let pool = HttpPool::new(&options)
            .map_err(|source| Error::Fetch { what: "anything over HTTP", source })?;
        let plain = urls.iter().any(|url| url.scheme() == "http");
        Ok(Self { chosen, plain, pool })
    }

    /// The zone of the first chosen host, if it has answered.
    pub(crate) fn first_zone(&self) -> Option<NetworkZone> {
        self.chosen.first_zone()
    }

    /// Checks that a URL named by a server may be used.
    pub(crate) fn check_url(&self, what: &'static str, text: &str) -> Result<Url, Error> {
        let shown = || url_for_error(text);
        let url = Url::parse(text).map_err(|_| Error::NotAUrl { what, url: shown() })?;
        let zone = NetworkZone::of_url(&url);
        match url.scheme() {
            "https" => {}
            "http" if self.plain || zone == Some(NetworkZone::Loopback) => {}
            "http" => return Err(Error::InsecureUrl { what, url: shown() }),
            _ => return Err(Error::NotAUrl { what, url: shown() }),
        }
        match zone {
            Some(zone) if !self.chosen.may_name(zone) => {
                Err(Error::Address { what, url: shown(), zone })
            }
            _ => Ok(url),
        }
    }

    /// GETs a document; `None` if there is none.
    pub(crate) async fn get_document<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &str,
    ) -> Result<Option<T>, Error> {
        let reply = self.get(what, url, HeaderMap::new()).await?;
        if reply.status.is_client_error() {
            return Ok(None);
        }
        reply.read(what, url).map(Some)
    }

    /// GETs a URL with these headers.
    pub(crate) async fn get(
        &self,
        what: &'static str,
        url: &str,
        headers: HeaderMap,
    ) -> Result<FetchReply, Error> {
        let endpoint = self.endpoint(what, url)?;
        self.record_reply(what, &endpoint, endpoint.get(headers).await)
    }

    /// POSTs a form.
    pub(crate) async fn post_form(
        &self,
        what: &'static str,
        url: &str,
        form: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<FetchReply, Error> {
        let body = encoded(form);
        let endpoint = self.endpoint(what, url)?;
        self.record_reply(what, &endpoint, endpoint.post_form(body.into(), headers).await)
    }

    /// POSTs JSON.
    pub(crate) async fn post_json(
        &self,
        what: &'static str,
        url: &str,
        body: &serde_json::Value,
    ) -> Result<FetchReply, Error> {
        let endpoint = self.endpoint(what, url)?;
        let answer = endpoint.post(body.to_string().into(), HeaderMap::new()).await;
        self.record_reply(what, &endpoint, answer)
    }

    fn endpoint(&self, what: &'static str, url: &str) -> Result<HttpEndpoint, Error> {
        let url = self.check_url(what, url)?;
        let (chosen, refused) = (self.chosen.clone(), url.clone());
        let options = EndpointOptions {
            first_byte: RESPONSE_TIMEOUT,
            idle: RESPONSE_TIMEOUT,
            limits: ResponseLimits { max_body: MAX_BODY_BYTES, ..ResponseLimits::default() },
            credentials: Arc::new(RefusalObserver(move |refusal: &CredentialChallenge| {
                chosen.record_address(&refused, refusal.remote);
            })),
            ..EndpointOptions::default()
        };
        Ok(HttpEndpoint::new(self.pool.clone(), url, options))
    }

    fn record_reply(
        &self,
        what: &'static str,
        endpoint: &HttpEndpoint,
        answer: Result<HttpResponse, HttpError>,
    ) -> Result<FetchReply, Error> {
        if let Ok(answer) = &answer {
            self.chosen.record_address(endpoint.url(), answer.remote);
        }
        read_reply(what, answer)
    }
}

/// A URL for an error message, redacted. A text that is no URL stays as it is, because it is the mistake to
/// show.
fn url_for_error(text: &str) -> String {
    let text = sanitize::sanitize_line(text);
    let is_url = text.contains("://") && Url::parse(&text).is_ok();
    if is_url { redact_url(&text) } else { text.into_owned() }
}

fn encoded(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

fn read_reply(
    what: &'static str,
    answer: Result<HttpResponse, HttpError>,
) -> Result<FetchReply, Error> {
    match answer {
        Ok(HttpResponse { status, headers, body, .. }) => {
            let text = match body {
                ResponseBody::Json(text) | ResponseBody::Other { text, .. } => text,
                ResponseBody::Empty | ResponseBody::Events(_) => Bytes::new(),
            };
            Ok(FetchReply { status, headers, text })
        }
        // `switchboard_wire` treats 401 and 403 as refused credentials; OAuth endpoints answer with them.
        Err(HttpError::Refused { status, text, .. }) => {
            Ok(FetchReply { status, headers: HeaderMap::new(), text })
        }
        Err(source) => Err(Error::Fetch { what, source }),
    }
}

// === impl FetchReply ===

impl FetchReply {
    /// Parses the body of a successful response.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        what: &'static str,
        url: &str,
    ) -> Result<T, Error> {
        let url = || url_for_error(url);
        if !self.status.is_success() {
            return Err(Error::Status { what, url: url(), status: self.status.as_u16() });
        }
        let unreadable = |source| Error::Unreadable { what, url: url(), source };
        if self.text.is_empty() {
            return Err(unreadable(DocumentError::NotJson));
        }
        serde_json::from_slice(&self.text).map_err(|error| unreadable(DocumentError::Json(error)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn check(server: &str, named: &str, fits: bool) {
        let server = server.parse().unwrap();
        let fetcher = Fetcher::new(&[&server], None, &HttpPoolOptions::default()).unwrap();
        assert_eq!(fetcher.check_url("it", named).is_ok(), fits, "{server} names {named}");
    }

    #[test]
    fn what_a_server_may_name() {
        for (server, named, fits) in [
            ("https://8.8.8.8/", "https://9.9.9.9/", true),
            ("https://8.8.8.8/", "http://9.9.9.9/", false),
            ("https://8.8.8.8/", "https://10.0.0.1/", false),
            ("https://8.8.8.8/", "http://localhost/", false),
            ("https://8.8.8.8/", "https://169.254.169.254/latest", false),
            ("http://127.0.0.1/", "http://127.0.0.1:1/", true),
            ("http://127.0.0.1/", "http://169.254.169.254/latest", false),
            ("http://127.0.0.1/", "http://[::ffff:169.254.169.254]/", false),
            ("http://127.0.0.1/", "file:///etc/passwd", false),
            ("http://127.0.0.1/", "nonsense", false),
            ("https://10.0.0.1/", "https://10.0.0.2/", true),
            ("https://10.0.0.1/", "http://10.0.0.2/", false),
        ] {
            check(server, named, fits);
        }
    }
}
