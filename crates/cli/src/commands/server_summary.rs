//! A configured server in `--json`: name, scope, place, transport, state, and why.
//!
//! Used by `get` and by the rows of `list`, `doctor` and `reconnect`, which add members of their own. It does not print.

use serde::Serialize;
use serde_json::Value;
use switchboard_config::{
    Desired, DesiredServer, RedactedChange, Scope, ServerReadiness, SourceLocation,
};

use crate::{hint, show};

/// The members that every list of servers has.
#[derive(Debug, Serialize)]
pub(super) struct ServerSummary {
    pub(super) name: String,
    pub(super) scope: Scope,
    pub(super) at: SourceLocation,
    transport: String,
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<SourceLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<Vec<RedactedChange>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

// === impl ServerSummary ===

impl ServerSummary {
    /// Summarises `server`, with `entry` as its configuration.
    pub(super) fn new(server: &DesiredServer, entry: &Value, desired: &Desired) -> Self {
        let reason = server.state.reason();
        let (changes, hint) = match &server.state {
            ServerReadiness::AwaitingApproval { changes } => {
                (changes.clone(), Some(hint::approve(&server.name)))
            }
            _ => {
                let problem = desired.own_problem(server);
                (None, problem.and_then(|problem| problem.hint.as_ref()).map(ToString::to_string))
            }
        };
        Self {
            name: server.name.clone(),
            scope: server.scope,
            at: server.at.clone(),
            transport: show::transport(entry).to_owned(),
            state: server.state.name(),
            reason: reason.map(|reason| reason.why.clone()),
            by: reason.and_then(|reason| reason.by.clone()),
            changes,
            hint,
        }
    }
}
