//! The remedy of each error: retry, sign in, ask, reconfigure, unknown, give up.
//!
//! Used by `core` (dispatch, reconnection) and through it by all fronts. It is the only place that decides a remedy,
//! by variant and status, never by text.

use std::sync::Arc;

use crate::{
    Error, Remedy,
    envelope::{RpcError, code},
    http::{ConnectFailure, HttpError},
    ws::WsError,
};
use switchboard_process::SpawnError;

impl From<SpawnError> for Error {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(Arc::new(error))
    }
}

impl From<HttpError> for Error {
    fn from(error: HttpError) -> Self {
        Self::Http(Arc::new(error))
    }
}

impl From<WsError> for Error {
    fn from(error: WsError) -> Self {
        Self::WebSocket(Arc::new(error))
    }
}

impl Error {
    /// The class of remedy for this error.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Spawn(error) => spawn_remedy(error),
            Self::Http(error) => http_remedy(error),
            Self::WebSocket(error) => ws_remedy(error),
            Self::Status { status, .. } => status_remedy(*status),
            Self::Rpc(error) => code_remedy(error.code),
            Self::Exited { .. }
            | Self::Io { .. }
            | Self::Closed
            | Self::StreamLost { .. }
            | Self::Timeout { .. }
            | Self::TimeLimit { .. }
            | Self::Busy => Remedy::Retry,
            Self::StrayText { source, .. } => source.remedy(),
            Self::Remote(told) => told.remedy,
            Self::InputNeeded { .. } => Remedy::AskUser,
            Self::NoCommonVersion { .. } => Remedy::Reconfigure,
            Self::Malformed(_)
            | Self::InvalidResult { .. }
            | Self::Params { .. }
            | Self::TaskCancelled { .. }
            | Self::Skill { .. }
            | Self::NotOffered { .. }
            | Self::HeaderArgument { .. } => Remedy::GiveUp,
        }
    }
}

impl Error {
    /// Whether the server may have run the failed request: it was sent, and no answer refuses it.
    pub fn may_have_executed(&self) -> bool {
        match self {
            Self::Http(error) => may_have_reached(error),
            Self::WebSocket(error) => !matches!(
                **error,
                WsError::Http(_)
                    | WsError::Scheme { .. }
                    | WsError::NotUpgraded { .. }
                    | WsError::Handshake { .. }
            ),
            Self::Status { status, asks_to_retry, .. } => {
                may_follow_execution(*status) && !(*status == 503 && *asks_to_retry)
            }
            Self::Rpc(error) => says_unknown(error),
            Self::StrayText { source, .. } => source.may_have_executed(),
            Self::Remote(told) => told.remedy == Remedy::Unknown,
            Self::Exited { .. }
            | Self::Io { .. }
            | Self::Closed
            | Self::StreamLost { .. }
            | Self::Timeout { .. }
            | Self::TimeLimit { .. }
            | Self::Malformed(_)
            | Self::InvalidResult { .. } => true,
            Self::Spawn(_)
            | Self::NoCommonVersion { .. }
            | Self::Params { .. }
            | Self::HeaderArgument { .. }
            | Self::Busy
            | Self::InputNeeded { .. }
            | Self::TaskCancelled { .. }
            | Self::Skill { .. }
            | Self::NotOffered { .. } => false,
        }
    }
}

fn may_have_reached(error: &HttpError) -> bool {
    match error {
        HttpError::Connect { .. }
        | HttpError::Redirect { .. }
        | HttpError::SignIn { .. }
        | HttpError::Credentials { .. }
        | HttpError::Setup { .. } => false,
        HttpError::Refused { status, .. } => may_follow_execution(status.as_u16()),
        _ => true,
    }
}

/// Statuses that a server, or a proxy in front, may send after it has processed the request. A proxy sends 408 and
/// 503 also after it has passed the request on; only a 503 with `Retry-After` refuses it. Other statuses below 500
/// refuse it, too.
fn may_follow_execution(status: u16) -> bool {
    status >= 500 || status == 408
}

/// Whether an error states that the request may have run (`data.remedy`): our own plugins do, and another Switchboard
/// behind this one.
fn says_unknown(error: &RpcError) -> bool {
    let remedy = error.data.as_ref().and_then(|data| data.get("remedy").ok().flatten());
    remedy.and_then(|remedy| remedy.to_text()).is_some_and(|word| word == "unknown")
}

fn spawn_remedy(error: &SpawnError) -> Remedy {
    match error {
        SpawnError::Guard { .. } | SpawnError::Io { .. } => Remedy::Retry,
        _ => Remedy::Reconfigure,
    }
}

fn http_remedy(error: &HttpError) -> Remedy {
    match error {
        HttpError::SignIn { .. } => Remedy::SignIn,
        HttpError::Refused { status, .. } => status_remedy(status.as_u16()),
        HttpError::Connect { kind: ConnectFailure::Tls | ConnectFailure::NotTls, .. }
        | HttpError::Redirect { .. }
        | HttpError::Setup { .. } => Remedy::Reconfigure,
        HttpError::Connect { .. }
        | HttpError::FirstByte { .. }
        | HttpError::Stalled { .. }
        | HttpError::Closed { .. }
        | HttpError::Credentials { .. } => Remedy::Retry,
        _ => Remedy::GiveUp,
    }
}

fn ws_remedy(error: &WsError) -> Remedy {
    match error {
        WsError::Http(error) => http_remedy(error),
        _ => Remedy::Retry,
    }
}

/// 408, 425, 429 and statuses from 500 mean: retry later.
fn status_remedy(status: u16) -> Remedy {
    match status {
        401 => Remedy::SignIn,
        408 | 425 | 429 | 500.. => Remedy::Retry,
        300..=399 | 404 | 405 | 410 => Remedy::Reconfigure,
        _ => Remedy::GiveUp,
    }
}

fn code_remedy(code: i64) -> Remedy {
    match code {
        code::URL_ELICITATION_REQUIRED => Remedy::AskUser,
        code::HEADER_MISMATCH => Remedy::Retry,
        code::UNSUPPORTED_VERSION => Remedy::Reconfigure,
        _ => Remedy::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use super::*;
    use crate::json::Raw;
    use switchboard_process::ProcessExit;

    #[test]
    fn what_was_sent_and_not_refused_may_have_been_carried_out() {
        let method = || "tools/call".to_owned();
        let refused = |status, asks_to_retry| {
            let text = String::new();
            Error::Status { method: method(), status, text, asks_to_retry }
        };
        let status = |status| refused(status, false);
        let rpc = |data: &str| {
            Error::Rpc(RpcError::new(-32603, "no").with_data(Raw::parse(data.to_owned()).unwrap()))
        };
        for error in [
            Error::Exited { exit: ProcessExit::Code(1), stderr: String::new() },
            Error::io("reading", io::ErrorKind::ConnectionReset.into()),
            Error::Closed,
            Error::StreamLost { method: method() },
            Error::Timeout { method: method(), after: Duration::ZERO },
            Error::TimeLimit { method: method(), after: Duration::ZERO },
            Error::invalid("tools/call", "odd"),
            WsError::Lost { source: None }.into(),
            WsError::Closed { code: 1011, reason: String::new() }.into(),
            status(500),
            status(502),
            status(504),
            status(503),
            status(408),
            refused(502, true),
            rpc(r#"{"remedy":"unknown"}"#),
        ] {
            assert!(error.may_have_executed(), "{error}");
        }
        for error in [
            Error::Busy,
            Error::Rpc(RpcError::new(-32603, "no")),
            Error::HeaderArgument { path: "/a".to_owned() },
            Error::NotOffered { what: "tools" },
            WsError::Scheme { scheme: "http".to_owned() }.into(),
            status(404),
            status(429),
            refused(503, true),
            rpc(r#"{"remedy":"retry"}"#),
            rpc(r#""unknown""#),
        ] {
            assert!(!error.may_have_executed(), "{error}");
        }
    }
}
