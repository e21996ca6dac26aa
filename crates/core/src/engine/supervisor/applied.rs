//! The applied state of a workspace: the servers with their connections, permissions and hooks.
//!
//! Made by `supervisor::apply`; used by `dispatch`, the snapshot and `engine::session`. It does not start or stop
//! connections.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_config::{
    Desired, DesiredServer, ElicitationAnswerer, Entry, PermissionMode, Scope, ServerSharing,
    ServerSignature, ToolFilter, Transport,
};
use switchboard_wire::Era;

use crate::catalog::{ConfiguredServer, normalize_configured_server};
use crate::connection::{CapabilityClass, Connection, ConnectionSpec, EntryKey};
use crate::engine::session::caller::Session;
use crate::engine::workspace::call_limits::CallLimits;
use crate::engine::workspace::guest_access::GuestAccess;
use crate::engine::workspace::in_process::InProcessServer;
use crate::hooks::Hooks;
use crate::permission::{RulePrincipal, WorkspacePermissions};
use crate::problem::EngineProblem;

/// The tools of an editor that are shown unless settings name others.
const IDE_TOOLS: [&str; 2] = ["getDiagnostics", "executeCode"];

/// An applied desired state, with the connections of one principal.
#[derive(Clone)]
pub(crate) struct AppliedState {
    /// The unique number of this state.
    pub(in crate::engine) number: u64,
    pub(crate) desired: Arc<Desired>,
    pub(crate) placed: AppliedServers,
    /// Every named server, started or not: tool names never depend on which servers are connected.
    pub(crate) configured: Vec<(String, Scope)>,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) numbers: CallLimits,
    pub(crate) problems: Vec<EngineProblem>,
    /// The started servers of this process: each snapshot asks them for their problems.
    pub(in crate::engine) in_process: Vec<InProcessServer>,
    /// The permissions of the settings; sessions may have another mode.
    pub(crate) permissions: WorkspacePermissions,
    /// The principal, for conditions of rules about lists; its groups are known in views of sessions only.
    pub(crate) principal: RulePrincipal,
}

/// The started servers, in order and by name.
#[derive(Clone)]
pub(crate) struct AppliedServers {
    servers: Vec<Arc<AppliedServer>>,
    positions: HashMap<String, usize>,
}

/// A server that is started.
#[derive(Clone)]
pub(crate) struct AppliedServer {
    pub(crate) name: String,
    /// The name as it stands in tool names and rules.
    pub(crate) normal: String,
    pub(crate) scope: Scope,
    pub(crate) filter: ToolFilter,
    pub(crate) always_load: bool,
    pub(crate) timeout: Option<std::time::Duration>,
    pub(crate) share: ServerSharing,
    /// Who answers its elicitations where the client cannot.
    pub(crate) elicitation: ElicitationAnswerer,
    /// The era that its entry sets.
    pub(crate) pinned_era: Option<Era>,
    pub(crate) transport: &'static str,
    /// A digest of the server's command or URL.
    pub(crate) signature: String,
    /// The names of the secrets in its entry.
    pub(crate) secrets: Arc<[String]>,
    pub(in crate::engine) guest_access: GuestAccess,
    pub(crate) spec: ConnectionSpec,
    pub(crate) connection: Arc<Connection>,
}

/// The era and class of a connection.
#[derive(Debug, Clone)]
pub(in crate::engine) struct ConnectionKind {
    pub(in crate::engine) era: Option<Era>,
    pub(in crate::engine) class: CapabilityClass,
}

/// A server that will be started, before it has a connection.
pub(in crate::engine) struct ServerPlan {
    pub(in crate::engine) name: String,
    pub(in crate::engine) spec: ConnectionSpec,
    scope: Scope,
    filter: ToolFilter,
    always_load: bool,
    timeout: Option<u64>,
    share: ServerSharing,
    pub(in crate::engine) elicitation: ElicitationAnswerer,
    transport: &'static str,
    signature: Option<ServerSignature>,
    secrets: Arc<[String]>,
    guest_access: GuestAccess,
}

// === impl AppliedState ===

impl AppliedState {
    pub(crate) fn server(&self, server: &str) -> Option<&Arc<AppliedServer>> {
        self.placed.servers.get(self.placed.position(server)?)
    }

    /// Returns the era and class of a server's connection, if it still belongs to the entry.
    pub(in crate::engine) fn kind_of(
        &self,
        server: &str,
        entry: EntryKey,
    ) -> Option<ConnectionKind> {
        let placed = self.server(server)?;
        let kind = ConnectionKind { era: placed.spec.era, class: placed.spec.class.clone() };
        (placed.connection.entry_key() == entry).then_some(kind)
    }

    /// Returns the permission mode of a session.
    pub(crate) fn mode(&self, session: &Session) -> PermissionMode {
        self.desired.rules.effective_mode(session.mode, session.usual_mode)
    }
}

// === impl AppliedServer ===

impl AppliedServer {
    /// Whether other principals than the local one reach the server with the credentials of the local one.
    pub(crate) fn lends_sign_in(&self) -> bool {
        self.guest_access == GuestAccess::Same
    }

    /// Returns this server with another connection.
    pub(in crate::engine) fn with_connection(&self, connection: Arc<Connection>) -> Self {
        Self { spec: connection.spec().clone(), connection, ..self.clone() }
    }
}

// === impl AppliedServers ===

impl AppliedServers {
    pub(in crate::engine) fn position(&self, server: &str) -> Option<usize> {
        self.positions.get(server).copied()
    }

    pub(crate) fn all(&self) -> &[Arc<AppliedServer>] {
        &self.servers
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Arc<AppliedServer>> {
        self.servers.iter()
    }
}

impl FromIterator<Arc<AppliedServer>> for AppliedServers {
    fn from_iter<I: IntoIterator<Item = Arc<AppliedServer>>>(servers: I) -> Self {
        let servers: Vec<_> = servers.into_iter().collect();
        let mut positions = HashMap::with_capacity(servers.len());
        for (position, placed) in servers.iter().enumerate() {
            // The first server of a name counts.
            positions.entry(placed.name.clone()).or_insert(position);
        }
        Self { servers, positions }
    }
}

// === impl ServerPlan ===

impl ServerPlan {
    /// Makes the plan of a server that may be started.
    pub(in crate::engine) fn new(
        server: &DesiredServer,
        entry: &Entry,
        desired: &Desired,
        spec: ConnectionSpec,
    ) -> Self {
        Self {
            name: server.name.clone(),
            scope: server.scope,
            filter: tool_filter(entry, desired),
            always_load: entry.always_load,
            timeout: entry.timeout,
            share: entry.share,
            elicitation: elicitation_answerer(entry, desired),
            transport: entry.transport.name(),
            signature: server.signature.clone(),
            secrets: server.secrets.keys().cloned().collect(),
            guest_access: GuestAccess::of_server(server, entry),
            spec,
        }
    }

    /// Whether sessions of different kinds get different connections.
    pub(in crate::engine) fn shares_by_kind(&self) -> bool {
        self.share != ServerSharing::Always
    }

    pub(in crate::engine) fn into_applied_server(
        self,
        connection: Arc<Connection>,
    ) -> AppliedServer {
        AppliedServer {
            normal: normalize_name(&self.name, self.scope),
            name: self.name,
            scope: self.scope,
            filter: self.filter,
            always_load: self.always_load,
            timeout: self.timeout.map(std::time::Duration::from_millis),
            share: self.share,
            elicitation: self.elicitation,
            pinned_era: self.spec.era,
            transport: self.transport,
            signature: self.signature.map(|signature| signature.to_string()).unwrap_or_default(),
            secrets: self.secrets,
            guest_access: self.guest_access,
            spec: connection.spec().clone(),
            connection,
        }
    }
}

/// Returns who answers the elicitations of a server where the client cannot: its entry's setting, else the
/// workspace's.
fn elicitation_answerer(entry: &Entry, desired: &Desired) -> ElicitationAnswerer {
    let own = entry.questions.and_then(|questions| questions.elicitation);
    own.or(desired.settings.questions.elicitation).unwrap_or(ElicitationAnswerer::Client)
}

/// Normalises a server's name for tool names and rules.
pub(crate) fn normalize_name(server: &str, scope: Scope) -> String {
    normalize_configured_server(ConfiguredServer { name: server, scope })
}

/// Returns every named server, started or not: tool names never depend on which servers are connected.
pub(in crate::engine) fn configured_servers(desired: &Desired) -> Vec<(String, Scope)> {
    let mut configured: Vec<(String, Scope)> = Vec::new();
    for server in &desired.servers {
        if !configured.iter().any(|(known, _)| *known == server.name) {
            configured.push((server.name.clone(), server.scope));
        }
    }
    configured
}

/// Returns the tool filter of an entry. An editor shows only the tools in `ideTools`, or the default ones, in place
/// of its entry's filter.
fn tool_filter(entry: &Entry, desired: &Desired) -> ToolFilter {
    if !matches!(entry.transport, Transport::SseIde(_) | Transport::WsIde(_)) {
        return entry.tools.clone();
    }
    let named = desired.settings.ide_tools.as_ref();
    let tools: Vec<String> = match named {
        Some(tools) => tools.iter().map(|tool| tool.value.clone()).collect(),
        None => IDE_TOOLS.map(str::to_owned).into(),
    };
    let allowed = tools.into_iter().filter(|tool| entry.tools.shows_tool(tool)).collect();
    ToolFilter { allow: Some(allowed), deny: entry.tools.deny.clone() }
}

/// Returns the root that is offered to a server: only servers that the project configures learn its folder.
pub(in crate::engine) fn offered_root(
    server: &DesiredServer,
    desired: &Desired,
) -> Option<PathBuf> {
    matches!(server.scope, Scope::Local | Scope::Project).then(|| desired.root.clone())
}
