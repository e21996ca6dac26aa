//! One server as a row of a table, with failure, hint and changes below it; and as JSON.
//!
//! Used by `list`, `doctor` and `reconnect`. It does not connect.

use std::time::{SystemTime, UNIX_EPOCH};

use anstyle::Style;
use serde::Serialize;
use serde_json::Value;
use switchboard_config::{Desired, DesiredServer, SecretVisibility, ServerReadiness};
use switchboard_core::engine::{ConnectionCount, ServerSnapshot};
use switchboard_core::{EngineProblem, EngineProblemKind};
use switchboard_wire::sanitize;

use crate::commands::changed;
use crate::commands::server_summary::ServerSummary;
use crate::hint;
use crate::printer::{BOLD, CYAN, DIM, GREEN, Printer, RED, YELLOW};
use crate::report::Failure;
use crate::show;
use crate::wait::millis;

/// How many lines of a failing server's standard error are shown.
const MAX_STDERR_LINES: usize = 8;

/// The state of a server that is connected and does not answer; the longest state but one.
const SILENT: &str = "does not answer";
/// Longer names push the rest of their row to the right.
const MAX_NAME_CHARS: usize = 30;
/// The shortest cut of a command or URL.
const MIN_TARGET_CHARS: usize = 10;
/// The indentation of the lines below a row.
const INDENT: usize = 4;

/// The widths of the columns.
pub(crate) struct TableWidths {
    name: usize,
    state: usize,
    scope: usize,
    total: usize,
    /// Whether the file and line of each entry are shown.
    has_places: bool,
}

/// The connection state of a server.
pub(crate) enum CheckStatus {
    Connected(ConnectedInfo),
    /// Not started: its lists are known, and the first call that needs it starts it.
    Idle {
        connection: ConnectedInfo,
        lists_read_at: SystemTime,
    },
    /// Connected, but the server does not answer.
    Silent {
        connection: ConnectedInfo,
        since: SystemTime,
    },
    Failed {
        failure: Failure,
        last_tried: Option<SystemTime>,
    },
}

/// Name, version and protocol of a connected server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectedInfo {
    name: Option<String>,
    version: Option<String>,
    protocol: &'static str,
    era: String,
    connect_millis: u64,
}

/// One server; an element of `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerRow {
    #[serde(flatten)]
    server: ServerSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<ConnectedInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    entry: Value,
    /// When a failed server was last tried, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_tried_at: Option<u64>,
    /// When the lists of an idle server were read, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    lists_read_at: Option<u64>,
    /// Since when a connected server has not answered, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_since: Option<u64>,
    /// The latency of the latest liveness check.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_millis: Option<u64>,
    /// The number of connections, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<usize>,
    /// How many connections are in the state that is shown, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    affected_connections: Option<usize>,
    /// Problems of plugins of a connected server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    #[serde(skip)]
    causes: Vec<String>,
}

// === impl TableWidths ===

impl TableWidths {
    pub(crate) fn of(desired: &Desired) -> Self {
        let widest = |width: &dyn Fn(&DesiredServer) -> usize, limit: usize| {
            desired.servers.iter().map(width).max().unwrap_or(0).min(limit)
        };
        let is_waiting = |server: &DesiredServer| {
            matches!(server.state, ServerReadiness::AwaitingApproval { .. })
        };
        let longest_state =
            if desired.servers.iter().any(is_waiting) { "awaiting approval" } else { SILENT };
        Self {
            name: widest(&|server| show::word(&server.name).chars().count(), MAX_NAME_CHARS),
            state: longest_state.len(),
            scope: widest(&|server| server.scope.to_string().len(), usize::MAX),
            total: show::table_width(),
            has_places: false,
        }
    }

    /// With the file and line of each entry below its row.
    pub(crate) fn with_places(self) -> Self {
        Self { has_places: true, ..self }
    }

    /// The columns that are left for the command or URL.
    fn target(&self, name: usize) -> usize {
        let taken = 2 + name.max(self.name) + 2 + self.state + 2 + self.scope + 2;
        self.total.saturating_sub(taken).max(MIN_TARGET_CHARS)
    }
}

// === impl ServerRow ===

impl ServerRow {
    pub(crate) fn new(server: &DesiredServer, desired: &Desired) -> Self {
        let entry = server.template_json(SecretVisibility::Masked);
        Self {
            server: ServerSummary::new(server, &entry, desired),
            connection: None,
            error: None,
            entry,
            last_tried_at: None,
            lists_read_at: None,
            silent_since: None,
            answer_millis: None,
            connections: None,
            affected_connections: None,
            problems: Vec::new(),
            causes: Vec::new(),
        }
    }

    /// Notes the number of the server's connections, how many of them are in the shown state, and their latency.
    pub(crate) fn set_connections(&mut self, view: &ServerSnapshot) {
        self.answer_millis = view.answer_took.map(millis);
        let ConnectionCount { total, in_state } = view.connections;
        self.connections = Some(total).filter(|total| *total > 1);
        self.affected_connections = Some(in_state).filter(|in_state| *in_state < total);
    }

    /// How many connections are in the state that is shown, in words, if not all.
    fn affected(&self) -> Option<String> {
        let (total, in_state) = (self.connections?, self.affected_connections?);
        ConnectionCount { total, in_state }.affected()
    }

    /// Sets the problems of the server's plugins.
    pub(crate) fn set_plugin_problems(&mut self, problems: &[EngineProblem]) {
        let is_own = |problem: &&EngineProblem| {
            problem.kind == EngineProblemKind::Plugin
                && problem.server.as_deref() == Some(self.server.name.as_str())
        };
        let own = problems.iter().filter(is_own);
        self.problems = own.map(|problem| problem.message.clone()).collect();
    }

    pub(crate) fn set_status(&mut self, status: CheckStatus) {
        match status {
            CheckStatus::Connected(connection) => {
                self.server.state = "connected";
                self.connection = Some(connection);
            }
            CheckStatus::Idle { connection, lists_read_at } => {
                self.server.state = "idle";
                self.connection = Some(connection);
                self.lists_read_at = Some(unix_millis(lists_read_at));
            }
            CheckStatus::Silent { connection, since } => {
                self.server.state = "silent";
                self.connection = Some(connection);
                self.silent_since = Some(unix_millis(since));
                self.server.hint = Some(hint::silent(&self.server.name));
            }
            CheckStatus::Failed { failure, last_tried } => {
                self.last_tried_at = last_tried.map(unix_millis);
                self.server.state =
                    if failure.needs_authentication() { "needs-auth" } else { "failed" };
                self.error = Some(failure.to_json());
                self.server.hint = failure.hint().map(ToOwned::to_owned);
                self.causes = failure.causes().to_vec();
            }
        }
    }

    /// Name, version and protocol of a connected server, in words.
    pub(crate) fn connection(&self) -> Option<String> {
        self.connection.as_ref().map(ToString::to_string)
    }

    /// The server's latency in words, if the server was checked.
    pub(crate) fn answer_time(&self) -> Option<String> {
        self.answer_millis.map(|took| format!("answers in {took} ms"))
    }

    pub(super) fn is_ready(&self) -> bool {
        self.server.state == "ready"
    }

    /// Whether the server should run.
    pub(super) fn is_enabled(&self) -> bool {
        matches!(
            self.server.state,
            "ready" | "connected" | "idle" | "silent" | "needs-auth" | "failed" | "invalid"
        )
    }

    /// Whether the server should run and is not connected.
    pub(crate) fn is_failing(&self) -> bool {
        matches!(self.server.state, "silent" | "needs-auth" | "failed" | "invalid")
    }

    fn words(&self) -> (Style, &'static str, &'static str) {
        match self.server.state {
            "connected" if !self.problems.is_empty() => (YELLOW, "!", "connected"),
            "connected" => (GREEN, "✔", "connected"),
            "idle" => (GREEN, "✔", "idle"),
            "silent" => (YELLOW, "!", SILENT),
            "needs-auth" => (YELLOW, "!", "sign-in needed"),
            "failed" => (RED, "✘", "failed"),
            "invalid" => (RED, "✘", "invalid"),
            "awaiting-approval" => (YELLOW, "⏸", "awaiting approval"),
            "disabled" => (DIM, "⊘", "disabled"),
            "rejected" => (DIM, "⊘", "rejected"),
            "blocked" => (RED, "⊘", "blocked"),
            _ => (BOLD, "○", "ready"),
        }
    }

    /// The state in words: `tracker: sign-in needed`.
    pub(crate) fn summary(&self) -> String {
        format!("{}: {}", show::word(&self.server.name), self.words().2)
    }

    /// Prints name, state, scope, and the command or URL as far as it fits; below it the problems. With `--verbose`
    /// the whole command and its file come first.
    pub(crate) fn print(&self, table: &TableWidths, printer: &Printer) {
        let (style, symbol, words) = self.words();
        let name = show::word(&self.server.name);
        printer.line(format_args!(
            "{style}{symbol}{style:#} {BOLD}{name:name_width$}{BOLD:#}  {words:state_width$}  {DIM}{:scope_width$}{DIM:#}  {}",
            self.server.scope.to_string(),
            show::distinctive_target(&self.entry, table.target(name.chars().count())),
            name_width = table.name,
            state_width = table.state,
            scope_width = table.scope,
        ));
        let wrap = |line: &String| show::wrap_to_terminal(line, INDENT);
        for line in self.details(table, printer).iter().flat_map(wrap) {
            printer.line(format_args!("    {line}"));
        }
        let Some(hint) = &self.server.hint else { return };
        let hint = format!("hint: {}", sanitize::sanitize_line(hint));
        for (number, line) in wrap(&hint).iter().enumerate() {
            match line.strip_prefix("hint") {
                Some(rest) if number == 0 => {
                    printer.line(format_args!("    {CYAN}hint{CYAN:#}{rest}"));
                }
                _ => printer.line(format_args!("    {line}")),
            }
        }
    }

    fn details(&self, table: &TableWidths, printer: &Printer) -> Vec<String> {
        let mut lines = Vec::new();
        if printer.is_verbose() {
            lines.push(show::target(&self.entry));
        }
        if printer.is_verbose() || table.has_places {
            lines.push(format!("--> {}", printer.places.location(&self.server.at)));
        }
        if let (Some(connection), true) = (&self.connection, printer.is_verbose()) {
            let parts = std::iter::once(connection.to_string()).chain(self.answer_time());
            lines.push(parts.collect::<Vec<_>>().join(", "));
        }
        let reason = self.server.reason.as_ref();
        lines.extend(
            reason
                .filter(|reason| *reason != self.server.state)
                .map(|reason| sanitize::sanitize_line(reason).into_owned()),
        );
        let by = self.server.by.as_ref().filter(|by| **by != self.server.at);
        lines.extend(by.map(|by| format!("--> {}", printer.places.location(by))));
        lines.extend(self.server.changes.iter().flatten().map(changed::line));
        lines.extend(self.idle_line());
        lines.extend(self.trouble_line());
        lines.extend(self.problems.iter().map(|problem| show::shorten(problem, 400)));
        for cause in &self.causes {
            // The first line says what happened; the last ones are what the server printed at its end.
            let mut all = cause.lines();
            lines.extend(all.next().map(|line| show::shorten(line, 200)));
            let rest: Vec<_> = all.collect();
            let last = rest.iter().skip(rest.len().saturating_sub(MAX_STDERR_LINES));
            lines.extend(last.map(|line| show::shorten(line, 200)));
        }
        lines.extend(self.last_tried_at.map(|millis| format!("last tried {}", show::ago(millis))));
        lines
    }

    /// When the lists of an idle server were read.
    pub(crate) fn idle_line(&self) -> Option<String> {
        let millis = self.lists_read_at?;
        let (moment, ago) = (show::moment(millis / 1000), show::ago(millis));
        Some(format!("tools known from {moment} ({ago}); the first call starts it"))
    }

    /// Since when the server does not answer, and how many connections are affected.
    fn trouble_line(&self) -> Option<String> {
        let affected = self.affected();
        if let Some(millis) = self.silent_since {
            let (moment, ago) = (show::moment(millis / 1000), show::ago(millis));
            let subject = match (affected, self.affected_connections) {
                (Some(affected), Some(2..)) => format!("{affected} do not answer"),
                (Some(affected), _) => format!("{affected} does not answer"),
                (None, _) => "does not answer".to_owned(),
            };
            return Some(format!("{subject} since {moment} ({ago})"));
        }
        let plural = self.affected_connections.is_some_and(|affected| affected > 1);
        match self.server.state {
            "failed" => affected.map(|affected| format!("{affected} failed")),
            "needs-auth" => affected.map(|affected| {
                format!("{affected} {} authentication", if plural { "need" } else { "needs" })
            }),
            _ => None,
        }
    }
}

fn unix_millis(at: SystemTime) -> u64 {
    millis(at.duration_since(UNIX_EPOCH).unwrap_or_default())
}

// === impl ConnectedInfo ===

impl ConnectedInfo {
    /// Reads the snapshot of a connected server; `None` if the server is not connected.
    pub(crate) fn of(view: &ServerSnapshot) -> Option<Self> {
        let facts = view.facts.as_ref()?;
        let took = view.connect_took.unwrap_or_default();
        Some(Self {
            name: facts.name(),
            version: facts.server_version(),
            protocol: facts.version.as_str(),
            era: facts.era().to_string(),
            connect_millis: millis(took),
        })
    }
}

impl std::fmt::Display for ConnectedInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.name.as_deref().unwrap_or("a server without a name");
        let version = self.version.as_deref().unwrap_or_default();
        let name = sanitize::sanitize_line(name).into_owned();
        let version = sanitize::sanitize_line(version).into_owned();
        write!(
            f,
            "{name} {version} speaks {} ({}), connected in {} ms",
            self.protocol, self.era, self.connect_millis
        )
    }
}
