//! The options of an engine.
//!
//! Used by the hub, the commands and embedding programs to start an engine. Settings of a workspace are not
//! options: they come with the desired state.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::{DesiredServer, Entry, StartPolicy};
use switchboard_process::ProcessGuard;
use switchboard_wire::http::{CredentialProvider, NoCredentials};

use crate::audit::AuditSink;
use crate::connection::ConnectionTiming;
use crate::engine::workspace::state::ProcessEnvironment;
use crate::sealing::HandleSealer;

/// Seconds of one day.
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// The options of an engine. Start from [`EngineOptions::new`] and change what differs.
#[derive(Clone)]
pub struct EngineOptions {
    /// Ends the processes of servers together with this process. Without a guard only direct children are covered.
    pub guard: ProcessGuard,
    /// The folder for large results, logs and remembered answers; `None` stores nothing.
    pub state_dir: Option<PathBuf>,
    /// The file of this program, to detect an entry that starts it again.
    pub program: Option<PathBuf>,
    /// The name sent to servers.
    pub name: String,
    /// The version sent to servers.
    pub version: String,
    /// Provides the credentials of servers.
    pub credentials: Arc<dyn CredentialSource>,
    /// Seals handles for clients; `None`: with a key in `state_dir`, else with one in memory.
    pub sealer: Option<Arc<dyn HandleSealer>>,
    /// Whether entries decide when a server with a kept catalog is started; `Eager`: every server is started at once,
    /// and kept catalogs are only written.
    pub start: StartPolicy,
    /// Timeouts and limits of connections.
    pub timing: ConnectionTiming,
    /// How long a workspace stays after its last session.
    pub linger: Duration,
    /// How long the connections of a principal other than the local one stay after its last session.
    pub principal_linger: Duration,
    /// How many connections one principal may have besides the configured ones (256).
    pub connections_per_principal: usize,
    /// How many connections all principals may have together (1024).
    pub connections: usize,
    /// How long a question waits in the queue.
    pub patience: Duration,
    /// Whether a person can open the queue; errors advise to do so only then.
    pub queue_access: QueueAccess,
    /// How many bytes of spilled results are kept, in all (1 GiB).
    pub results_bytes: u64,
    /// How long a spilled result is kept (7 days).
    pub results_age: Duration,
    /// Takes the record of every call; `None` writes it to `logs/audit.jsonl` in `state_dir`, if there is one.
    pub audit: Option<Arc<dyn AuditSink>>,
}

/// Whether a person can open the queue of questions, for example in the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAccess {
    /// A person can open the console or the terminal UI.
    Open,
    /// No front shows the queue: this engine does not belong to a hub.
    None,
}

/// Provides the credentials of servers, and ids that tell credentials apart.
pub trait CredentialSource: Send + Sync {
    /// Returns the credentials of a principal, by its id, for a server of a workspace with that environment, and an id
    /// of the credentials that holds no secret: connections with different ids are never shared. For another principal
    /// than the local one these are its own sign-in and nothing of the local one's, under another id.
    fn credentials(
        &self,
        principal: &str,
        server: &DesiredServer,
        entry: &Entry,
        environment: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String);
}

/// Uses only the credentials in entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryCredentials;

// === impl EntryCredentials ===

impl CredentialSource for EntryCredentials {
    fn credentials(
        &self,
        _: &str,
        _: &DesiredServer,
        _: &Entry,
        _: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        (Arc::new(NoCredentials), String::new())
    }
}

// === impl EngineOptions ===

impl EngineOptions {
    /// Makes the options of the host application `name`, with default timeouts and without files.
    pub fn new(name: impl Into<String>, version: impl Into<String>, guard: ProcessGuard) -> Self {
        Self {
            guard,
            state_dir: None,
            program: None,
            name: name.into(),
            version: version.into(),
            credentials: Arc::new(EntryCredentials),
            sealer: None,
            start: StartPolicy::Lazy,
            timing: ConnectionTiming::default(),
            linger: Duration::from_secs(60),
            principal_linger: Duration::from_secs(600),
            connections_per_principal: 256,
            connections: 1024,
            patience: Duration::from_secs(600),
            queue_access: QueueAccess::Open,
            results_bytes: 1 << 30,
            results_age: Duration::from_secs(7 * SECONDS_PER_DAY),
            audit: None,
        }
    }
}

impl std::fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineOptions")
            .field("name", &self.name)
            .field("state_dir", &self.state_dir)
            .finish_non_exhaustive()
    }
}
