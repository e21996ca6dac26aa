//! The specification of a connection: server, environment, root, capabilities, era, principal, credentials.
//!
//! Made by `engine::supervisor::apply`; used by `connection` to connect and to compute its key. It does not connect
//! (`connection::task` does).

use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc, time::Duration};

use switchboard_config::secret::SecretText;
use switchboard_config::{Entry, Scope, StartPolicy, Transport};
use switchboard_wire::{self as wire, Era, http::CredentialProvider, link::pair};

use super::CapabilityClass;

/// The variable that changes how long connecting may take, in milliseconds.
const CONNECT_TIMEOUT_VARIABLE: &str = "MCP_TIMEOUT";

/// The server to connect to, and the client's side of the connection.
#[derive(Clone)]
pub struct ConnectionSpec {
    /// The server's name as configured.
    pub server: String,
    /// The scope of the server's entry.
    pub scope: Scope,
    /// The transport, and the address or command.
    pub reach: ConnectionTarget,
    /// The folder in which the server's process starts, unless its entry names another.
    pub working_dir: PathBuf,
    /// The caller's environment, with the settings' variables on top. Of a duplicate name the last value counts.
    pub environment: Arc<[(OsString, OsString)]>,
    /// The folder offered as a root, for entries that belong to a project.
    pub root: Option<PathBuf>,
    /// The capabilities declared in a legacy handshake.
    pub class: CapabilityClass,
    /// The only era to use; `None`: the modern one where the server supports it.
    pub era: Option<Era>,
    /// The principal that the connection serves; `None`: every principal.
    pub principal: Option<Arc<str>>,
    /// Whether one session has the connection for itself.
    pub variant: ConnectionSharing,
    /// Provides the credentials.
    pub credentials: Arc<dyn CredentialProvider>,
    /// Identifies the credentials; no secret.
    pub credential_id: String,
    /// The secrets in the entry, which no error of the server shows.
    pub secrets: Arc<[SecretText]>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum ConnectionTarget {
    /// By a configured entry, with its variables replaced by their values.
    Entry(Box<Entry>),
    /// Through a link within this process.
    InProcess(InProcessLink),
}

/// A server in this process.
#[derive(Clone)]
pub struct InProcessLink {
    /// Identifies the server among all servers in this process.
    pub id: String,
    /// Opens a new link to the server, once for each attempt.
    pub open: Arc<dyn Fn() -> Result<pair::LinkEnd, wire::Error> + Send + Sync>,
}

/// Whether a connection is shared between sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ConnectionSharing {
    /// All sessions share the connection.
    #[default]
    Shared,
    /// One session has the connection for itself.
    Session(String),
}

/// The group of servers that share connect slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectGroup {
    /// Local servers: connecting costs processor time.
    Local,
    /// Remote servers: connecting costs a socket.
    Remote,
}

// === impl ConnectionSpec ===

impl ConnectionSpec {
    /// Returns the group of connect slots that this spec uses.
    pub fn connect_group(&self) -> ConnectGroup {
        match &self.reach {
            ConnectionTarget::InProcess(_) => ConnectGroup::Local,
            ConnectionTarget::Entry(entry) => match entry.transport {
                Transport::Stdio(_) => ConnectGroup::Local,
                _ => ConnectGroup::Remote,
            },
        }
    }

    /// Whether the server's catalog is kept, so that the server can be started when it is needed. Servers of this
    /// process and editors are found anew by each process; the connection of one session ends with it.
    pub(crate) fn keeps_catalog(&self) -> bool {
        let ConnectionTarget::Entry(entry) = &self.reach else { return false };
        let is_configured = matches!(
            entry.transport,
            Transport::Stdio(_) | Transport::Http(_) | Transport::Sse(_) | Transport::Ws(_)
        );
        is_configured && self.variant == ConnectionSharing::Shared
    }

    /// When the server is started.
    pub(crate) fn start_policy(&self) -> StartPolicy {
        match &self.reach {
            ConnectionTarget::Entry(entry) => entry.start.unwrap_or_default(),
            ConnectionTarget::InProcess(_) => StartPolicy::Eager,
        }
    }

    /// Returns the value of a variable in the caller's environment.
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        let mut found = self.environment.iter().rev().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value)
    }

    /// Returns how long connecting may take: `MCP_TIMEOUT` of the caller's environment, if it is valid.
    pub(super) fn connect_timeout(&self, usual: Duration) -> Duration {
        let millis = self
            .variable(CONNECT_TIMEOUT_VARIABLE)
            .and_then(|value| value.to_str()?.trim().parse().ok());
        millis.filter(|millis| *millis > 0).map_or(usual, Duration::from_millis)
    }
}

impl fmt::Debug for ConnectionSpec {
    // Leaves out the environment, the credentials and the secrets: they must not be logged.
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
