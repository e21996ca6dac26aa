//! What can go wrong in an exchange, told apart by variant.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use url::Url;

use crate::envelope::MalformedKind;

/// The cause below ours, whatever library it came from.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// What was being done when an error arose: the method, and the URL without user, query or fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSummary {
    method: Method,
    url: Arc<str>,
}

/// Why no connection came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// Nobody listens there.
    Refused,
    /// No route, or no such network.
    Unreachable,
    /// The host name does not resolve.
    Dns,
    /// Certificates or TLS versions did not agree.
    Tls,
    /// The connect deadline passed.
    Timeout,
    /// The peer hung up while the connection was being made.
    Broken,
    /// The proxy in between would not open the way.
    Proxy,
}

/// How a connection ended in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectKind {
    /// Reset by the peer.
    Reset,
    /// Closed before the end that was announced.
    Ended,
}

/// How much of an answer had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseProgress {
    /// Not even the status line: whether the request was executed is unknown.
    Nothing,
    /// The headers, and this many bytes of the body.
    Body(u64),
}

/// Why a redirect was not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedirectRefusal {
    /// It points to another scheme, host or port; credentials must not go there.
    OtherOrigin,
    /// 301, 302 or 303 for a request that is not a GET: following would change the method.
    MethodWouldChange,
    /// More than five in a row.
    TooMany,
    /// No `SourceLocation`, or one that is not a URL.
    NoLocation,
    /// This kind of exchange follows none.
    NotFollowed,
}

/// A failure of the HTTP client. `Display` says what was being done, the source why it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // fields: `doing` is what was attempted, `source` the cause; the rest is said below
pub enum HttpError {
    /// No connection was made, so nothing was sent.
    #[error("{doing}: cannot connect: {kind}")]
    Connect { doing: RequestSummary, kind: ConnectFailure, source: Source },
    /// Connected, but no answer began before the deadline.
    #[error("{doing}: no answer began within {after:?}")]
    FirstByte { doing: RequestSummary, after: Duration },
    /// The body paused for longer than allowed.
    #[error("{doing}: the answer stopped for {after:?} after {received} bytes")]
    Stalled { doing: RequestSummary, received: u64, after: Duration },
    /// The connection ended in the middle of the exchange.
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
    /// One event is longer than `limit`. The stream goes on with the event after it.
    #[error("{doing}: an event is larger than {limit} bytes")]
    EventTooLarge { doing: RequestSummary, limit: usize },
    /// An event is not UTF-8. The stream goes on with the event after it.
    #[error("{doing}: an event is not UTF-8")]
    NotUtf8 { doing: RequestSummary },
    /// A redirect that is not followed; `to` has no user, query or fragment.
    #[error("{doing}: redirected to `{to}`, not followed: {reason}")]
    Redirect { doing: RequestSummary, to: String, reason: RedirectRefusal },
    /// Someone has to sign in; `challenges` are the `WWW-Authenticate` values.
    #[error("{doing}: sign-in is needed: {reason}")]
    SignIn { doing: RequestSummary, reason: String, challenges: Vec<String> },
    /// 401 or 403, and the credentials have nothing better to offer. `text` begins the body.
    #[error("{doing}: refused with {status}")]
    Refused { doing: RequestSummary, status: StatusCode, challenges: Vec<String>, text: Bytes },
    /// The credentials provider failed.
    #[error("{doing}: no credentials could be had")]
    Credentials { doing: RequestSummary, source: Source },
    /// The peer does not speak HTTP as it should.
    #[error("{doing}: the peer broke the protocol")]
    Protocol { doing: RequestSummary, source: Source },
    /// The options make no client: `what` names the part.
    #[error("cannot set up {what}")]
    Setup { what: &'static str, source: Source },
}

// === impl HttpError ===

impl HttpError {
    /// What is wrong with the message in an event that could not be given, while its stream goes on.
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
    /// `method` on `url`, of which only scheme, host, port and path are kept.
    pub fn new(method: Method, url: &Url) -> Self {
        Self { method, url: redact_url(url).into() }
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The URL, without anything that may be secret.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn from_parts(method: Method, url: Arc<str>) -> Self {
        Self { method, url }
    }
}

/// The URL as it may be shown: user, query and fragment are where secrets travel.
pub(crate) fn redact_url(url: &Url) -> String {
    let mut shown = url.clone();
    // These fail only for URLs that cannot have a user or password to begin with.
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
