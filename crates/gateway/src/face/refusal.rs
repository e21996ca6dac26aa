//! HTTP refusals: a status, and a JSON-RPC error with the reason and a hint.
//!
//! Used by all faces and by `access_control`. Errors of calls are in `bridge::refusal`.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytestring::ByteString;
use http::{HeaderName, HeaderValue, StatusCode, header};
use switchboard_wire::{
    envelope::{Id, MalformedMessage, Response as Answer, RpcError, code},
    json::{Raw, Rope},
    sanitize,
    server::ByteCharge,
};

use super::{media::over_budget, replicas::ReplicaError, rope_body};
use crate::view_provider::{ViewError, ViewSelection};

/// The longest answer that is not charged to a budget.
const UNCHARGED_BYTES: usize = 64 << 10;
/// A code that JSON-RPC reserves for servers; other MCP servers use it for refusals, too.
const REFUSED_CODE: i64 = -32000;
/// The code that other MCP servers use for an expired session.
const NO_SESSION_CODE: i64 = -32001;

/// A refused request.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    pub(super) reason: RefusalReason,
    /// Boxed, since most results carry no refusal.
    told: Box<RefusalBody>,
}

/// The body of a refusal.
#[derive(Debug)]
struct RefusalBody {
    status: StatusCode,
    id: Option<Id>,
    error: RpcError,
    header: Option<(HeaderName, HeaderValue)>,
}

/// The reason in one word, under which refusals are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalReason {
    Host,
    Origin,
    Token,
    Peer,
    Rate,
    Limit,
    Body,
    Media,
    Session,
    Headers,
    Version,
    Method,
    Part,
}

/// Marks a response with its reason, so that access control can count it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefusalMark(pub(super) RefusalReason);

// === impl RefusalReason ===

impl RefusalReason {
    pub(super) const ALL: [Self; 13] = [
        Self::Host,
        Self::Origin,
        Self::Token,
        Self::Peer,
        Self::Rate,
        Self::Limit,
        Self::Body,
        Self::Media,
        Self::Session,
        Self::Headers,
        Self::Version,
        Self::Method,
        Self::Part,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Token => "token",
            Self::Peer => "peer",
            Self::Rate => "rate",
            Self::Limit => "limit",
            Self::Body => "body",
            Self::Media => "media",
            Self::Session => "session",
            Self::Headers => "headers",
            Self::Version => "version",
            Self::Method => "method",
            Self::Part => "part",
        }
    }
}

// === impl HttpRefusal ===

impl HttpRefusal {
    pub(super) fn new(reason: RefusalReason, status: StatusCode, text: impl Into<String>) -> Self {
        let error = RpcError::new(REFUSED_CODE, text);
        Self { reason, told: Box::new(RefusalBody { status, id: None, error, header: None }) }
    }

    /// The body is not a valid message.
    pub(super) fn malformed(malformed: &MalformedMessage) -> Self {
        Self::new(RefusalReason::Body, StatusCode::BAD_REQUEST, "")
            .with_id(malformed.id.as_ref())
            .with_error(malformed.to_rpc_error())
    }

    /// The session has ended, or belongs to another client.
    pub(super) fn no_session() -> Self {
        let text = "there is no such session; it may have expired. Send `initialize` again";
        Self::new(RefusalReason::Session, StatusCode::NOT_FOUND, text).with_code(NO_SESSION_CODE)
    }

    /// The request has neither a session nor the metadata of a modern request.
    pub(super) fn session_missing() -> Self {
        let text = "send `initialize` first and name its session in `Mcp-Session-Id`, or put the \
                    protocol version and the client's capabilities into `_meta`";
        Self::new(RefusalReason::Session, StatusCode::BAD_REQUEST, text)
            .with_code(code::INVALID_PARAMS)
    }

    /// The view cannot be opened: the server or agent does not exist, or the agent lacks something.
    pub(super) fn no_view(part: &ViewSelection, error: &ViewError) -> Self {
        let what = match (error, part) {
            (ViewError::AgentNotReady(reason), _) => sanitize::sanitize_line(reason).into_owned(),
            (ViewError::NoSuchView, ViewSelection::Everything) => {
                "nothing is served here any more".to_owned()
            }
            (ViewError::NoSuchView, ViewSelection::Server(name)) => {
                format!("there is no server `{}` here", sanitize::sanitize_line(name))
            }
            (ViewError::NoSuchView, ViewSelection::Agent(name)) => {
                format!("there is no agent `{}` here", sanitize::sanitize_line(name))
            }
        };
        let text = format!("{what}; `/mcp` shows everything");
        Self::new(RefusalReason::Part, StatusCode::NOT_FOUND, text)
    }

    /// Another replica did not answer. The client may retry where nothing was executed.
    pub(super) fn no_replicas(error: &ReplicaError) -> Self {
        match error {
            ReplicaError::Gone => return Self::replica_gone(),
            ReplicaError::Interrupted(_) => {
                let (reason, text) = (RefusalReason::Session, error.to_string());
                return Self::new(reason, StatusCode::BAD_REQUEST, text);
            }
            ReplicaError::Unreachable(_) | ReplicaError::TooLarge(_) => {}
        }
        let mut text = format!("this needs the other replicas: {error}");
        let mut cause = std::error::Error::source(error);
        while let Some(next) = cause {
            text = format!("{text}: {next}");
            cause = next.source();
        }
        Self::full(sanitize::sanitize_line(&text).into_owned())
    }

    /// The replica that this is meant for is gone.
    pub(super) fn replica_gone() -> Self {
        let text = "the replica that carried this out is gone, and its execution is unknown; check before you make \
                    the call again";
        Self::new(RefusalReason::Session, StatusCode::BAD_REQUEST, text)
    }

    pub(super) fn method(allowed: &'static str) -> Self {
        let text = format!("this address takes {allowed}");
        let header = (header::ALLOW, HeaderValue::from_static(allowed));
        Self::new(RefusalReason::Method, StatusCode::METHOD_NOT_ALLOWED, text).with_header(header)
    }

    /// A limit is reached now; the client may retry.
    pub(super) fn full(text: impl Into<String>) -> Self {
        let header = (header::RETRY_AFTER, HeaderValue::from_static("1"));
        Self::new(RefusalReason::Limit, StatusCode::SERVICE_UNAVAILABLE, text).with_header(header)
    }

    #[must_use]
    pub(super) fn with_id(mut self, id: Option<&Id>) -> Self {
        self.told.id = id.cloned();
        self
    }

    #[must_use]
    pub(super) fn with_code(mut self, code: i64) -> Self {
        self.told.error.code = code;
        self
    }

    #[must_use]
    pub(super) fn with_data(mut self, data: Raw) -> Self {
        self.told.error.data = Some(data);
        self
    }

    #[must_use]
    pub(super) fn with_header(mut self, header: (HeaderName, HeaderValue)) -> Self {
        self.told.header = Some(header);
        self
    }

    fn with_error(mut self, error: RpcError) -> Self {
        self.told.error = error;
        self
    }
}

impl HttpRefusal {
    /// The JSON-RPC error alone, for a transport without statuses.
    pub(super) fn into_text(self) -> ByteString {
        let RefusalBody { id, error, .. } = *self.told;
        Answer::error(id.as_ref(), &error).text().clone()
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let RefusalBody { status, id, error, header } = *self.told;
        tracing::debug!(reason = self.reason.as_str(), %status, "refused");
        let text = Answer::error(id.as_ref(), &error).text().clone();
        let mut response = json_response(status, text);
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response.extensions_mut().insert(RefusalMark(self.reason));
        response
    }
}

/// A response with one JSON text.
pub(super) fn json_response(status: StatusCode, text: impl Into<Rope>) -> Response {
    let mut response = Response::new(rope_body::body(text.into()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A response with one JSON text, charged to its principal's budget until it is sent. Small answers are not charged:
/// the number of requests limits them.
pub(super) fn json_charged(
    status: StatusCode,
    text: Rope,
    charge: impl Into<Option<ByteCharge>>,
) -> Result<Response, HttpRefusal> {
    let length = text.len();
    let response = json_response(status, text);
    match charge.into() {
        Some(mut charge) if length > UNCHARGED_BYTES => {
            if !charge.grow(length) {
                return Err(over_budget());
            }
            Ok(response.map(|body| rope_body::charge_body(body, charge)))
        }
        _ => Ok(response),
    }
}

/// A response without a body.
pub(super) fn empty_response(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
