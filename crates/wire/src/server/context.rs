//! What a handler knows of the call it answers, and what it may say on the way.

use super::session::Outbox;
use crate::{
    Version,
    envelope::Notification,
    json::{JsonEdit, Raw, quote},
    meta::{self, method},
};

/// What a client said of itself: a legacy one in its handshake, a modern one with each request.
#[derive(Debug, Clone)]
pub struct ClientFacts {
    /// The version it speaks.
    pub version: Version,
    /// `clientInfo`, if it says.
    pub client_info: Option<Raw>,
    /// `capabilities`.
    pub capabilities: Raw,
}

/// Who asks, in which version, and the way back for progress and logs.
#[derive(Debug)]
pub struct RequestContext {
    /// The version the request was made in.
    pub version: Version,
    /// Who asks, if it says.
    pub client_info: Option<Raw>,
    /// What the asker can do.
    pub capabilities: Raw,
    /// The token the client wants progress under, if it wants any.
    pub(super) progress_token: Option<Raw>,
    /// The least severe log message wanted; `None` wants none.
    pub(super) log_level: Option<LogSeverity>,
    pub(super) outbox: Outbox,
}

/// How grave a log message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogSeverity(usize);

const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

// === impl Severity ===

impl LogSeverity {
    /// The least.
    pub(super) const DEBUG: Self = Self(0);

    pub(super) fn parse(level: &str) -> Option<Self> {
        LOG_LEVELS.iter().position(|known| *known == level).map(Self)
    }
}

// === impl Context ===

impl RequestContext {
    /// What the asker said of itself.
    pub fn client_facts(&self) -> ClientFacts {
        ClientFacts {
            version: self.version,
            client_info: self.client_info.clone(),
            capabilities: self.capabilities.clone(),
        }
    }

    /// Whether the client wants to hear of progress.
    pub fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// The least severe level the client wants log messages of, if it wants any.
    pub fn log_level(&self) -> Option<&'static str> {
        self.log_level.map(|LogSeverity(level)| LOG_LEVELS[level])
    }

    /// Whether a capability is declared, by its path.
    pub fn has_capability(&self, path: &[&str]) -> bool {
        matches!(self.capabilities.get_path(path), Ok(Some(value)) if !matches!(value.as_str(), "false" | "null"))
    }

    /// Passes progress on under the client's own token. Dropped if the client wants none, or does
    /// not read.
    pub async fn progress(&self, params: &Raw) {
        let Some(token) = &self.progress_token else {
            return;
        };
        let edit = [JsonEdit::set(&[meta::PROGRESS_TOKEN], token.as_str())];
        if let Ok(params) = params.with_edits(&edit) {
            self.outbox
                .offer(Notification::new(method::PROGRESS, Some(&params)).text().clone())
                .await;
        }
    }

    /// Passes a log message on, if it is severe enough for the client.
    pub async fn log(&self, params: &Raw) {
        let level = params.get("level").ok().flatten().and_then(|level| level.to_text());
        let severity = level.as_deref().and_then(LogSeverity::parse).unwrap_or(LogSeverity::DEBUG);
        if self.log_level.is_some_and(|wanted| severity >= wanted) {
            self.outbox.offer(Notification::new(method::LOG, Some(params)).text().clone()).await;
        }
    }

    /// [`RequestContext::log`] of a line of text.
    pub async fn log_text(&self, level: &str, text: &str) {
        let params = format!(r#"{{"level":{},"data":{}}}"#, quote(level), quote(text));
        self.log(&Raw::from_trusted(params.into())).await;
    }

    /// Sends another notification that belongs to the call.
    pub async fn notify(&self, notification: &Notification) {
        self.outbox.offer(notification.text().clone()).await;
    }
}
