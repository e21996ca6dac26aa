//! What a connection is to: everything that makes it this one and no other.

use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc, time::Duration};

use switchboard_config::{Entry, Scope, Transport};
use switchboard_wire::{self as wire, Era, http::CredentialProvider, link::pair};

use super::CapabilityClass;

/// The variable that changes how long connecting may take, in milliseconds.
const CONNECT_TIMEOUT_VARIABLE: &str = "MCP_TIMEOUT";

/// What to connect to, for whom.
#[derive(Clone)]
pub struct ConnectionSpec {
    /// The server's name as configured.
    pub server: String,
    /// Where it is configured.
    pub scope: Scope,
    /// How it is reached.
    pub reach: ConnectionTarget,
    /// Where a process of it starts, unless its entry says otherwise.
    pub working_dir: PathBuf,
    /// The caller's environment, with the settings' variables on top. Where a name comes twice, the
    /// last one counts.
    pub environment: Arc<[(OsString, OsString)]>,
    /// The folder offered as a root, of entries that belong to a project.
    pub root: Option<PathBuf>,
    /// What is declared in a legacy handshake.
    pub class: CapabilityClass,
    /// The only era that is spoken; `None`: the modern one where the server has it.
    pub era: Option<Era>,
    /// The principal that it serves; `None`: every principal.
    pub principal: Option<Arc<str>>,
    /// Whether one session has it to itself.
    pub variant: ConnectionSharing,
    /// Who speaks for the user.
    pub credentials: Arc<dyn CredentialProvider>,
    /// Names those credentials; no secret.
    pub credential_id: String,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum ConnectionTarget {
    /// As a configured entry says, its variables replaced by their values.
    Entry(Box<Entry>),
    /// It runs in this process.
    InProcess(InProcessLink),
}

/// A server in this process.
#[derive(Clone)]
pub struct InProcessLink {
    /// Names it among all servers in this process.
    pub id: String,
    /// Hands out the near end of a new link to it, once for each attempt.
    pub open: Arc<dyn Fn() -> Result<pair::LinkEnd, wire::Error> + Send + Sync>,
}

/// Whose a connection is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ConnectionSharing {
    /// Everybody's.
    #[default]
    Shared,
    /// One session's own.
    Session(String),
}

/// Which servers take turns with which when many are connected at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectGroup {
    /// On this machine: it costs processor time.
    Local,
    /// Elsewhere: it costs a socket.
    Remote,
}

// === impl ConnectionSpec ===

impl ConnectionSpec {
    /// Which servers it takes turns with.
    pub fn connect_group(&self) -> ConnectGroup {
        match &self.reach {
            ConnectionTarget::InProcess(_) => ConnectGroup::Local,
            ConnectionTarget::Entry(entry) => match entry.transport {
                Transport::Stdio(_) => ConnectGroup::Local,
                _ => ConnectGroup::Remote,
            },
        }
    }

    /// The value a variable has for the caller.
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        let mut found = self.environment.iter().rev().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value)
    }

    /// How long connecting may take: what the caller's environment says, if it says anything usable.
    pub(super) fn connect_timeout(&self, usual: Duration) -> Duration {
        let millis = self
            .variable(CONNECT_TIMEOUT_VARIABLE)
            .and_then(|value| value.to_str()?.trim().parse().ok());
        millis.filter(|millis| *millis > 0).map_or(usual, Duration::from_millis)
    }
}

impl fmt::Debug for ConnectionSpec {
    // Neither the environment nor the credentials belong in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("server", &self.server)
            .field("scope", &self.scope)
            .field("reach", &self.reach)
            .field("working_dir", &self.working_dir)
            .field("root", &self.root)
            .field("class", &self.class)
            .field("era", &self.era)
            .field("principal", &self.principal)
            .field("variant", &self.variant)
            .field("credential_id", &self.credential_id)
            .finish_non_exhaustive()
    }
}

// === impl InProcessLink ===

impl fmt::Debug for InProcessLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("id", &self.id).finish_non_exhaustive()
    }
}
