//! The context of a request: the client's version and capabilities, and the channel for progress
//! and logs.
//!
//! Used by every `ServerHandler`; built by `legacy` and `modern`. It does not carry questions
//! (`HandlerReply::NeedsInput`).

use super::session::Outbox;
use crate::{
    Version,
    envelope::Notification,
    json::{JsonEdit, Raw, quote},
    meta::{self, method},
};

/// The facts that a client states: a legacy client in its handshake, a modern one with each
/// request.
#[derive(Debug, Clone)]
pub struct ClientFacts {
    /// The protocol version of the client.
    pub version: Version,
    /// `clientInfo`, if the client sent it.
    pub client_info: Option<Raw>,
    /// `capabilities`.
    pub capabilities: Raw,
}

/// The client's version, identity and capabilities, and the channel for progress and logs.
#[derive(Debug)]
pub struct RequestContext {
    /// The protocol version of the request.
    pub version: Version,
    /// `clientInfo`, if the client sent it.
    pub client_info: Option<Raw>,
    /// The client's capabilities.
    pub capabilities: Raw,
    /// The progress token of the client; `None` if it wants no progress.
    pub(super) progress_token: Option<Raw>,
    /// The least severe log level wanted; `None`: no logs.
    pub(super) log_level: Option<LogSeverity>,
    pub(super) outbox: Outbox,
}

/// The severity of a log message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogSeverity(usize);

const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

// === impl LogSeverity ===

impl LogSeverity {
    /// The least severe level.
    pub(super) const DEBUG: Self = Self(0);

    pub(super) fn parse(level: &str) -> Option<Self> {
        LOG_LEVELS.iter().position(|known| *known == level).map(Self)
    }

    pub(super) fn as_str(self) -> &'static str {
        LOG_LEVELS[self.0]
    }
}

// === impl RequestContext ===

impl RequestContext {
    /// The facts about the client, without the channel.
    pub fn client_facts(&self) -> ClientFacts {
        ClientFacts {
            version: self.version,
            client_info: self.client_info.clone(),
            capabilities: self.capabilities.clone(),
        }
    }

    /// Whether the client wants progress.
    pub fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    /// The least severe log level that the client wants, if it wants logs.
    pub fn log_level(&self) -> Option<&'static str> {
        self.log_level.map(LogSeverity::as_str)
    }

    /// Whether the client declares a capability, by its path.
    pub fn has_capability(&self, path: &[&str]) -> bool {
        matches!(self.capabilities.get_path(path), Ok(Some(value)) if !matches!(value.as_str(), "false" | "null"))
    }

    /// Sends progress under the client's token. Dropped if the client wants no progress, or does
    /// not read.
    pub async fn progress(&self, params: &Raw) {
        let Some(token) = &self.progress_token else {
            return;
        };
        let edit = [JsonEdit::set(&[meta::PROGRESS_TOKEN], token.as_str())];
        let params = params.clone().overwrite(&edit);
        self.outbox.offer(Notification::new(method::PROGRESS, Some(&params)).text().clone()).await;
    }

    /// Sends a log message, if it is severe enough for the client.
    pub async fn log(&self, params: &Raw) {
        let level = params.get("level").ok().flatten().and_then(|level| level.to_text());
        let severity = level.as_deref().and_then(LogSeverity::parse).unwrap_or(LogSeverity::DEBUG);
        if self.log_level.is_some_and(|wanted| severity >= wanted) {
            self.outbox.offer(Notification::new(method::LOG, Some(params)).text().clone()).await;
        }
    }

    /// Sends a line of text as a log message, like [`RequestContext::log`].
    pub async fn log_text(&self, level: &str, text: &str) {
        let params = format!(r#"{{"level":{},"data":{}}}"#, quote(level), quote(text));
        self.log(&Raw::from_trusted(params.into())).await;
    }

    /// Sends another notification that belongs to the call.
    pub async fn notify(&self, notification: &Notification) {
        self.outbox.offer(notification.text().clone()).await;
    }
}
