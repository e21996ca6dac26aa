//! Errors of the HTTP client, one variant for each kind of failure.
//!
//! Used by `client`, `ws`, `auth` and `core::connection`. Foreign errors are translated in
//! `classify`; the remedy is decided in `remedy`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use url::Url;

use crate::envelope::MalformedKind;

/// The underlying error of any library.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// The request during which an error arose: the method, and the URL without user, query or
/// fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSummary {
    method: Method,
    url: Arc<str>,
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// No program listens at the port.
    Refused,
    /// No route to the host or network.
    Unreachable,
    /// The host name does not resolve.
    Dns,
    /// The TLS handshake failed: certificates or versions.
    Tls,
    /// The peer answered the TLS handshake with something else.
    NotTls,
    /// The connect deadline passed.
    Timeout,
    /// The peer hung up while the connection was being made.
    Broken,
    /// The proxy refused the tunnel.
    Proxy,
}

/// How a connection ended during an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectKind {
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before the announced end.
    Ended,
}

/// How much of the response had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseProgress {
    /// Not even the status line: it is unknown whether the server ran the request.
    Nothing,
    /// The headers, and this number of body bytes.
    Body(u64),
}

/// Why a redirect was not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedirectRefusal {
    /// The redirect points to another scheme, host or port; credentials must not go there.
    OtherOrigin,
    /// 301, 302 or 303 for a request that is not a GET: following it would change the method.
    MethodWouldChange,
    /// More than five redirects in a row.
    TooMany,
    /// The `Location` header is missing or not a URL.
    NoLocation,
    /// This kind of request follows no redirects.
    NotFollowed,
}

/// A failure of the HTTP client. `Display` names the request, the source is the cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // fields: `doing` is what was attempted, `source` the cause; the rest is said below
pub enum HttpError {
    /// No connection was made, so the request was not sent.
    #[error("{doing}: cannot connect: {kind}")]
    Connect { doing: RequestSummary, kind: ConnectFailure, source: Source },
    /// Connected, but the response did not begin before the deadline.
    #[error("{doing}: no answer began within {after:?}")]
    FirstByte { doing: RequestSummary, after: Duration },
    /// The body paused longer than allowed.
    #[error("{doing}: the answer stopped for {after:?} after {received} bytes")]
    Stalled { doing: RequestSummary, received: u64, after: Duration },
    /// The connection ended during the exchange.
    #[error("{doing}: the connection was {how} {received}")]
    Closed {
        doing: RequestSummary,
        how: DisconnectKind,
        received: ResponseProgress,
        source: Option<Source>,
    },
    /// The body is longer than `limit`.
    #[error("{doing}: the answer is larger than {limit} bytes")]
    BodyTooLarge { doing: RequestSummary, limit: usize },
    /// An event is longer than `limit`. The stream continues with the next event.
    #[error("{doing}: an event is larger than {limit} bytes")]
    EventTooLarge { doing: RequestSummary, limit: usize },
    /// An event is not UTF-8. The stream continues with the next event.
    #[error("{doing}: an event is not UTF-8")]
    NotUtf8 { doing: RequestSummary },
    /// A redirect that was not followed; `to` has no user, query or fragment.
    #[error("{doing}: redirected to `{to}`, not followed: {reason}")]
    Redirect { doing: RequestSummary, to: String, reason: RedirectRefusal },
    /// The user has to sign in; `challenges` are the `WWW-Authenticate` values.
    #[error("{doing}: sign-in is needed: {reason}")]
    SignIn { doing: RequestSummary, reason: String, challenges: Vec<String> },
    /// 401 or 403, and the provider has no other credentials. `text` is the beginning of the body.
    #[error("{doing}: refused with {status}")]
    Refused { doing: RequestSummary, status: StatusCode, challenges: Vec<String>, text: Bytes },
    /// The credentials provider failed.
    #[error("{doing}: no credentials are available")]
    Credentials { doing: RequestSummary, source: Source },
    /// The peer violates HTTP.
    #[error("{doing}: the peer broke the protocol")]
    Protocol { doing: RequestSummary, source: Source },
    /// The options are invalid: `what` names the part.
    #[error("cannot set up {what}")]
    Setup { what: &'static str, source: Source },
}

// === impl HttpError ===

impl HttpError {
    /// The kind of malformed message for an event that was skipped while its stream continues.
    pub(crate) fn malformed_kind(&self) -> Option<MalformedKind> {
        match self {
            Self::EventTooLarge { limit, .. } => Some(MalformedKind::TooLarge { limit: *limit }),
            Self::NotUtf8 { .. } => Some(MalformedKind::NotUtf8),
            _ => None,
        }
    }
}

// === impl RequestSummary ===

impl RequestSummary {
    /// `method` and `url`, reduced to scheme, host, port and path.
    pub fn new(method: Method, url: &Url) -> Self {
        Self { method, url: redact_url(url).into() }
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The URL, without the parts that may be secret.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn from_parts(method: Method, url: Arc<str>) -> Self {
        Self { method, url }
    }
}

/// The URL for display: without user, query and fragment, which may hold secrets.
pub(crate) fn redact_url(url: &Url) -> String {
    let mut shown = url.clone();
    // These fail only for URLs that cannot have a user or password.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.into()
}

impl fmt::Display for RequestSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.url)
    }
}

// === impl ConnectFailure ===

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::Unreachable => "the host cannot be reached",
            Self::Dns => "the host name does not resolve",
            Self::Tls => "no TLS session could be agreed",
            Self::NotTls => "the server does not speak TLS",
            Self::Timeout => "the connect deadline passed",
            Self::Broken => "the peer hung up",
            Self::Proxy => "the proxy refused",
        })
    }
}

impl fmt::Display for DisconnectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset => "reset",
            Self::Ended => "closed",
        })
    }
}

impl fmt::Display for ResponseProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("before an answer began"),
            Self::Body(bytes) => write!(f, "after {bytes} bytes of the answer"),
        }
    }
}

impl fmt::Display for RedirectRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherOrigin => "it is another origin",
            Self::MethodWouldChange => "the request would become a GET",
            Self::TooMany => "too many redirects",
            Self::NoLocation => "it names no place",
            Self::NotFollowed => "redirects are not followed here",
        })
    }
}
