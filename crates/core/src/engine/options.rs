//! What an engine is made with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::{DesiredServer, Entry};
use switchboard_process::ProcessGuard;
use switchboard_wire::http::{CredentialProvider, NoCredentials};

use crate::audit::AuditSink;
use crate::connection::ConnectionTiming;
use crate::engine::workspace::state::ProcessEnvironment;
use crate::sealing::HandleSealer;

/// Seconds of one.
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// What an engine is made with. Start from [`EngineOptions::new`] and change what differs.
#[derive(Clone)]
pub struct EngineOptions {
    /// Who sees to it that nothing is left of a process. Without one only direct children are covered.
    pub guard: ProcessGuard,
    /// Where large results, logs and remembered answers are kept; `None` keeps nothing.
    pub state_dir: Option<PathBuf>,
    /// This program's own file, so that an entry that starts it again is found out.
    pub program: Option<PathBuf>,
    /// The name given to servers.
    pub name: String,
    /// The version given to servers.
    pub version: String,
    /// What servers are reached with.
    pub credentials: Arc<dyn CredentialSource>,
    /// What handles for clients are sealed with; `None`: a key in `state_dir`, else one that ends with the engine.
    pub sealer: Option<Arc<dyn HandleSealer>>,
    /// How long connections wait, and how many are made at once.
    pub timing: ConnectionTiming,
    /// How long a workspace stays after its last session.
    pub linger: Duration,
    /// How long the connections of a principal other than the local one stay after its last session.
    pub principal_linger: Duration,
    /// How many connections one principal may have besides those that are configured (256).
    pub connections_per_principal: usize,
    /// How many all of them may have together (1024).
    pub connections: usize,
    /// How long a question waits in the queue.
    pub patience: Duration,
    /// Whether a person can open the queue; errors advise to do so only then.
    pub queue_access: QueueAccess,
    /// How many bytes of results that were too long are kept, in all (1 GiB).
    pub results_bytes: u64,
    /// For how long each of them is kept (7 days).
    pub results_age: Duration,
    /// Where the record of every call goes; `None` writes it to `logs/audit.jsonl` in `state_dir`, if there is one.
    pub audit: Option<Arc<dyn AuditSink>>,
}

/// Whether the queue of questions has a front, such as the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAccess {
    /// A person can open the console or the terminal UI.
    Open,
    /// No front leads to the queue: the engine is no hub's.
    None,
}

/// What a server is reached with, and what tells it apart from what another is reached with.
pub trait CredentialSource: Send + Sync {
    /// The credentials for a server of a workspace with that environment, and a name for them that holds no secret: connections with different names
    /// are never shared.
    fn credentials(
        &self,
        server: &DesiredServer,
        entry: &Entry,
        environment: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String);
}

/// No credentials but what entries say.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryCredentials;

// === impl EntryCredentials ===

impl CredentialSource for EntryCredentials {
    fn credentials(
        &self,
        _: &DesiredServer,
        _: &Entry,
        _: &ProcessEnvironment,
    ) -> (Arc<dyn CredentialProvider>, String) {
        (Arc::new(NoCredentials), String::new())
    }
}

// === impl EngineOptions ===

impl EngineOptions {
    /// An engine of the host application `name`, with the usual patience, that keeps nothing on disk.
    pub fn new(name: impl Into<String>, version: impl Into<String>, guard: ProcessGuard) -> Self {
        Self {
            guard,
            state_dir: None,
            program: None,
            name: name.into(),
            version: version.into(),
            credentials: Arc::new(EntryCredentials),
            sealer: None,
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
