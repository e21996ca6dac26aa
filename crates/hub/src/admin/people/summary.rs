//! Clients, calls and servers as the people of `serve` see them: no arguments, no results, no entries, and no paths,
//! rules or secrets of the person who runs the hub.
//!
//! Used by `people` and `people::feed`. It does not decide who sees what.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde::Serialize;
use switchboard_core::audit::AuditCallLine;
use switchboard_core::engine::{ServerSnapshot, SessionInfo};
use switchboard_core::remote::{ErrorAdvice, RemoteLatency, RemoteServer};
use switchboard_wire::sanitize;

use super::caller::ConsoleCaller;

/// A client that is connected.
#[derive(Debug, Serialize)]
pub(super) struct ClientShown {
    principal: String,
    /// Tells sessions apart; it cannot be used to enter one.
    session: String,
    name: String,
    transport: &'static str,
    /// In seconds since 1970.
    since: u64,
    /// Running calls.
    calls: usize,
    /// Calls by server.
    servers: BTreeMap<String, u64>,
}

/// A call that has ended.
#[derive(Debug, Serialize)]
pub(super) struct CallShown<'a> {
    time: &'a str,
    principal: &'a str,
    client: &'a str,
    transport: &'a str,
    session: &'a str,
    server: &'a str,
    method: &'a str,
    /// The tool or the prompt; of the caller's own calls also the URI of a resource, which is an argument.
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    micros: u64,
    sent: u64,
    received: u64,
}

/// A server, for administrators.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerShown {
    pub(super) name: String,
    transport: Option<String>,
    state: String,
    protocol: Option<String>,
    tool_count: usize,
    calls_in_flight: usize,
    restarts: u64,
    latency: Option<RemoteLatency>,
}

// === impl ClientShown ===

impl ClientShown {
    pub(super) fn new(session: SessionInfo, calls: usize) -> Self {
        let who = &session.caller;
        let since = session.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = |text: &str| sanitize::sanitize_line(text).into_owned();
        Self {
            principal: line(who.principal.id()),
            session: who.session_mark(),
            name: line(&who.client),
            transport: who.transport,
            since: since.as_secs(),
            calls,
            servers: session.used,
        }
    }
}

// === impl CallShown ===

impl<'a> CallShown<'a> {
    pub(super) fn new(line: &'a AuditCallLine, caller: &ConsoleCaller) -> Self {
        let is_named = matches!(&*line.method, "tools/call" | "prompts/get");
        let is_own = caller.is(&line.principal);
        Self {
            time: &line.time,
            principal: &line.principal,
            client: &line.client,
            transport: &line.transport,
            session: &line.session,
            server: &line.server,
            method: &line.method,
            name: if is_own || is_named { &line.name } else { "" },
            decision: line.decision.as_deref(),
            by: line.by.as_deref(),
            outcome: &line.outcome,
            error: line.error.as_deref(),
            micros: line.micros,
            sent: line.sent,
            received: line.received,
        }
    }
}

// === impl ServerShown ===

impl ServerShown {
    pub(super) fn new(view: &ServerSnapshot, advice: &dyn ErrorAdvice) -> Self {
        let RemoteServer { name, transport, state, protocol, tool_count, stats, .. } =
            RemoteServer::from_view(view, advice);
        let stats = stats.as_ref();
        Self {
            name,
            transport,
            state,
            protocol,
            tool_count,
            calls_in_flight: stats.map_or(0, |stats| stats.calls_in_flight),
            restarts: stats.map_or(0, |stats| stats.restarts),
            latency: stats.and_then(|stats| stats.latency),
        }
    }
}
