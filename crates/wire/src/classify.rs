//! Every foreign error, and what it asks for. The one place that decides it.

use std::sync::Arc;

use crate::{
    Error, Remedy,
    envelope::code,
    http::{ConnectKind, HttpError},
    process::SpawnError,
    ws::WsError,
};

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
    /// What would help.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Spawn(error) => of_spawn(error),
            Self::Http(error) => of_http(error),
            Self::WebSocket(error) => of_ws(error),
            Self::Status { status, .. } => of_status(*status),
            Self::Rpc(error) => of_code(error.code),
            Self::Exited { .. }
            | Self::Io { .. }
            | Self::Closed
            | Self::StreamLost { .. }
            | Self::Timeout { .. }
            | Self::Busy => Remedy::Retry,
            Self::Told(told) => told.remedy,
            Self::InputNeeded { .. } => Remedy::AskUser,
            Self::NoCommonVersion { .. } => Remedy::Reconfigure,
            Self::Malformed(_)
            | Self::InvalidResult { .. }
            | Self::Params { .. }
            | Self::TaskCancelled { .. }
            | Self::Skill { .. }
            | Self::NotOffered { .. } => Remedy::GiveUp,
        }
    }
}

fn of_spawn(error: &SpawnError) -> Remedy {
    match error {
        SpawnError::Guard { .. } | SpawnError::Io { .. } => Remedy::Retry,
        _ => Remedy::Reconfigure,
    }
}

fn of_http(error: &HttpError) -> Remedy {
    match error {
        HttpError::SignIn { .. } => Remedy::SignIn,
        HttpError::Refused { status, .. } => of_status(status.as_u16()),
        HttpError::Connect { kind: ConnectKind::Tls, .. }
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

fn of_ws(error: &WsError) -> Remedy {
    match error {
        WsError::Http(error) => of_http(error),
        _ => Remedy::Retry,
    }
}

/// 408, 425 and 429 mean later; so do the server's own failures.
fn of_status(status: u16) -> Remedy {
    match status {
        401 => Remedy::SignIn,
        408 | 425 | 429 | 500.. => Remedy::Retry,
        300..=399 | 404 | 405 | 410 => Remedy::Reconfigure,
        _ => Remedy::GiveUp,
    }
}

fn of_code(code: i64) -> Remedy {
    match code {
        code::URL_ELICITATION_REQUIRED => Remedy::AskUser,
        code::HEADER_MISMATCH => Remedy::Retry,
        code::UNSUPPORTED_VERSION => Remedy::Reconfigure,
        _ => Remedy::GiveUp,
    }
}
