//! A workspace and its current state: principals, attached sessions, mentioned resources.
//!
//! Used by the whole engine. `Engine::apply` makes it; `departure` ends it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};
use switchboard_config::{Desired, DesiredServer};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use crate::audit::CallerIdentity;
use crate::connection::{CapabilityClass, CapabilityReading, RawLists};
use crate::engine::snapshot::extensions::{
    LostServerRequests, SessionExtensions, server_extensions,
};
use crate::engine::snapshot::{
    ClientExtensions, DescribedExtensions, ServerExtensions, ServerSnapshot,
};
use crate::engine::supervisor::applied::AppliedState;
use crate::engine::workspace::guest_principals::GuestPrincipals;
use crate::engine::workspace::in_process::InProcessServer;
use crate::engine::workspace::principal::{PrincipalLease, PrincipalView};
use crate::principal::LOCAL_PRINCIPAL;

/// The caller's environment variables, with those of the settings on top.
pub type ProcessEnvironment = Arc<[(OsString, OsString)]>;

/// The id of a workspace. Equal ids share everything.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspaceId(Arc<str>);

/// A workspace to apply a desired state to: its id, its environment and its in-process servers.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The id of the workspace.
    pub id: WorkspaceId,
    /// The caller's environment.
    pub environment: ProcessEnvironment,
    /// Servers of the host application itself.
    pub in_process: Vec<InProcessServer>,
}

// === impl Workspace ===

impl Workspace {
    /// Returns the link to a server inside this process; `None` for every other server, and for one without a link.
    pub(in crate::engine) fn in_process(&self, server: &DesiredServer) -> Option<&InProcessServer> {
        let given = self.in_process.iter().find(|given| given.name == server.name);
        given.filter(|_| server.is_in_process())
    }
}

/// The current state of a workspace.
pub(crate) struct WorkspaceState {
    pub(crate) id: WorkspaceId,
    /// The view of the local principal.
    local: Arc<PrincipalView>,
    /// The views of all other principals that hold a lease, or did a while ago.
    guests: GuestPrincipals,
    callers: Mutex<AttachedSessions>,
    /// The server that last mentioned a resource, by session and URI.
    mentions: Mutex<Mentions>,
    /// The requests of servers that no client got.
    lost_requests: Mutex<LostServerRequests>,
    /// Called when a session or a principal has left.
    left: Box<DepartureHandler>,
    /// The task that will end the workspace; a new one replaces it.
    ending: Mutex<Option<AbortOnDropHandle<Option<()>>>>,
}

type DepartureHandler = dyn Fn(&WorkspaceId, Departure<'_>) + Send + Sync;

/// A departure from a workspace.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) enum Departure<'a> {
    /// A session left.
    Session { session: &'a str, left: RemainingSessions },
    /// The last lease of a principal was dropped, at this count of its arrivals.
    Principal { principal: &'a str, arrivals: u64 },
}

/// The attached sessions.
#[derive(Debug, Default)]
struct AttachedSessions {
    sessions: HashMap<String, AttachedSession>,
    /// Counts arrivals, so that a departure can tell whether a session came back.
    arrivals: u64,
}

/// An attached session.
#[derive(Debug)]
struct AttachedSession {
    caller: Arc<CallerIdentity>,
    since: SystemTime,
    handles: usize,
    /// The servers that the session has called, each with how often.
    used: BTreeMap<String, u64>,
    /// The servers with a default connection that the session uses.
    occupied: BTreeSet<String>,
    /// The extensions that its clients declare.
    extensions: SessionExtensions,
    /// The servers with a default connection that was started for the session.
    reserved: BTreeSet<String>,
    /// The capabilities of the session's MCP client.
    class: Option<CapabilityClass>,
}

/// An attached session, and the servers that it has called.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// The identity of the caller.
    pub caller: Arc<CallerIdentity>,
    /// When the session was attached.
    pub since: SystemTime,
    /// The servers that the session has called, each with how often.
    pub used: BTreeMap<String, u64>,
}

/// The sessions of a workspace that are left after one has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum RemainingSessions {
    /// Other sessions are attached.
    Others,
    /// No session is left, at this count of arrivals.
    Nobody(u64),
}

/// Keeps a session attached until it is dropped.
pub(crate) struct SessionLease {
    standing: Weak<WorkspaceState>,
    session: String,
}

/// The latest mentions, oldest first.
#[derive(Debug, Default)]
struct Mentions {
    servers: HashMap<(String, String), String>,
    order: std::collections::VecDeque<(String, String)>,
}

/// Variables that decide which programs and which networks all servers of a workspace have.
const WORKSPACE_VARIABLES: [&str; 9] = [
    "PATH",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// How many mentions a workspace remembers.
const MAX_MENTIONS: usize = 4096;

// === impl WorkspaceId ===

impl WorkspaceId {
    /// Returns the id of a desired state's workspace: from its root, its agent, configuration given for this run,
    /// and the values of `PATH`, of the proxies and of the variables that its files name.
    pub fn from_desired(desired: &Desired, environment: &ProcessEnvironment, given: &str) -> Self {
        let agent = desired.agent.as_ref().map(|agent| agent.name.as_str());
        Self::new(&desired.root, agent, given, environment, &desired.variables)
    }

    fn new(
        root: &Path,
        agent: Option<&str>,
        given: &str,
        environment: &ProcessEnvironment,
        variables: &BTreeSet<String>,
    ) -> Self {
        let mut digest = Sha256::new();
        let mut part = |bytes: &[u8]| {
            digest.update(bytes.len().to_le_bytes());
            digest.update(bytes);
        };
        part(root.as_os_str().as_encoded_bytes());
        part(agent.unwrap_or_default().as_bytes());
        part(given.as_bytes());
        for name in WORKSPACE_VARIABLES.into_iter().chain(variables.iter().map(String::as_str)) {
            let value = environment.iter().rev().find(|(other, _)| other == name);
            part(name.as_bytes());
            part(value.map_or(b"", |(_, value)| value.as_encoded_bytes()));
        }
        Self(URL_SAFE_NO_PAD.encode(&digest.finalize()[..16]).into())
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkspaceId({})", self.0)
    }
}

impl From<&str> for WorkspaceId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

// === impl WorkspaceState ===

impl WorkspaceState {
    pub(in crate::engine) fn new(
        applied: Arc<AppliedState>,
        id: WorkspaceId,
        left: impl Fn(&WorkspaceId, Departure<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            id,
            local: Arc::new(PrincipalView::new(LOCAL_PRINCIPAL.into(), applied)),
            guests: GuestPrincipals::default(),
            callers: Mutex::default(),
            mentions: Mutex::default(),
            lost_requests: Mutex::default(),
            left: Box::new(left),
            ending: Mutex::default(),
        }
    }

    /// Returns the applied state of the local principal.
    pub(crate) fn applied(&self) -> Arc<AppliedState> {
        self.local.applied()
    }

    pub(in crate::engine) fn local(&self) -> &Arc<PrincipalView> {
        &self.local
    }

    /// Returns every principal's view, the local one's first.
    pub(in crate::engine) fn views(&self) -> Vec<Arc<PrincipalView>> {
        std::iter::once(Arc::clone(&self.local)).chain(self.guests.views()).collect()
    }

    /// Leases the place of a principal that has connections here.
    pub(in crate::engine) fn lease_principal(
        self: &Arc<Self>,
        principal: &str,
    ) -> Option<PrincipalLease> {
        let view = match principal {
            LOCAL_PRINCIPAL => Arc::clone(&self.local),
            _ => self.guests.lease(principal)?,
        };
        Some(PrincipalLease::new(view, Arc::clone(self)))
    }

    /// Adds a principal with its first lease.
    pub(in crate::engine) fn add_guest(self: &Arc<Self>, view: PrincipalView) -> PrincipalLease {
        let view = Arc::new(view);
        self.guests.add(Arc::clone(&view));
        PrincipalLease::new(view, Arc::clone(self))
    }

    /// Takes a lease back.
    pub(in crate::engine) fn return_lease(&self, principal: &str) {
        if let Some(arrivals) = self.guests.return_lease(principal) {
            (self.left)(&self.id, Departure::Principal { principal, arrivals });
        }
    }

    pub(in crate::engine) fn guests(&self) -> &GuestPrincipals {
        &self.guests
    }

    /// Adds a session, or a handle on it. `class` is that of its MCP client, `declared` its opaque capabilities;
    /// `only_server` is the only server that its clients see.
    pub(in crate::engine) fn lease(
        self: &Arc<Self>,
        who: &Arc<CallerIdentity>,
        class: Option<CapabilityClass>,
        declared: &CapabilityReading,
        only_server: Option<&str>,
    ) -> SessionLease {
        let mut callers = self.callers();
        callers.arrivals += 1;
        let new = || AttachedSession {
            caller: who.clone(),
            since: SystemTime::now(),
            handles: 0,
            used: BTreeMap::new(),
            occupied: BTreeSet::new(),
            extensions: SessionExtensions::new(only_server.map(str::to_owned)),
            reserved: BTreeSet::new(),
            class,
        };
        let session = callers.sessions.entry(who.session.clone()).or_insert_with(new);
        session.handles += 1;
        session.extensions.add(declared);
        SessionLease { standing: Arc::downgrade(self), session: who.session.clone() }
    }

    /// Returns the ids of the attached sessions.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let mut sessions: Vec<_> = self.callers().sessions.keys().cloned().collect();
        sessions.sort();
        sessions
    }

    /// Returns the attached sessions with their details.
    pub(in crate::engine) fn session_infos(&self) -> Vec<SessionInfo> {
        let told = |present: &AttachedSession| SessionInfo {
            caller: present.caller.clone(),
            since: present.since,
            used: present.used.clone(),
        };
        self.callers().sessions.values().map(told).collect()
    }

    /// Reports the extensions of the attached clients, oldest first. `servers` are those that no rule hides.
    pub(in crate::engine) fn client_extensions(
        &self,
        servers: &[&ServerSnapshot],
    ) -> Vec<ClientExtensions> {
        let callers = self.callers();
        let mut sessions: Vec<&AttachedSession> = callers.sessions.values().collect();
        sessions.sort_by_key(|session| session.since);
        let report = |session: &&AttachedSession| {
            session.extensions.report((&session.caller.client, session.caller.transport), servers)
        };
        sessions.iter().filter_map(report).collect()
    }

    /// Notes that a server does not get the extensions that a session's client declares.
    pub(in crate::engine) fn withhold_extensions(&self, session: &str, server: &str, reason: &str) {
        if let Some(present) = self.callers().sessions.get_mut(session) {
            present.extensions.withhold(server, reason);
        }
    }

    /// Notes that servers do not get something that a session's client asked for. Returns whether that is new.
    pub(in crate::engine) fn lose_wish(&self, session: &str, name: &str, reason: &str) -> bool {
        let mut callers = self.callers();
        let present = callers.sessions.get_mut(session);
        present.is_some_and(|present| present.extensions.lose(name, reason))
    }

    /// Notes what a client of a session was told that servers declare. Returns whether the report may change.
    pub(in crate::engine) fn note_described(
        &self,
        session: &str,
        servers: DescribedExtensions,
    ) -> bool {
        let mut callers = self.callers();
        let present = callers.sessions.get_mut(session);
        present.is_some_and(|present| present.extensions.describe(servers))
    }

    /// Notes a request of a server that no client got. Returns whether that is new.
    pub(crate) fn lose_request(&self, server: &str, method: &str, reason: &str) -> bool {
        self.lost_requests.lock().note(server, method, reason)
    }

    /// Reports the extensions of servers. `lists` returns the lists of a server.
    pub(in crate::engine) fn server_extensions<'l>(
        &self,
        servers: &[ServerSnapshot],
        lists: impl Fn(&str) -> Option<&'l RawLists>,
    ) -> Vec<ServerExtensions> {
        server_extensions(servers, lists, &self.lost_requests.lock())
    }

    /// Counts a call of a session to a server.
    pub(crate) fn count_use(&self, session: &str, server: &str) {
        let mut callers = self.callers();
        let Some(present) = callers.sessions.get_mut(session) else { return };
        match present.used.get_mut(server) {
            Some(calls) => *calls += 1,
            None => drop(present.used.insert(server.to_owned(), 1)),
        }
    }

    /// Notes that a session uses the default connection of a server.
    pub(in crate::engine) fn occupy(&self, session: &str, server: &str) {
        if let Some(present) = self.callers().sessions.get_mut(session)
            && !present.occupied.contains(server)
        {
            present.occupied.insert(server.to_owned());
        }
    }

    /// Whether a session of a principal uses the default connection of a server.
    pub(in crate::engine) fn is_occupied(&self, principal: &str, server: &str) -> bool {
        self.any_session(principal, |present| present.occupied.contains(server))
    }

    /// Notes that the default connection of a server was started for a session, which has not used it yet.
    pub(in crate::engine) fn reserve(&self, session: &str, server: &str) {
        if let Some(present) = self.callers().sessions.get_mut(session) {
            present.reserved.insert(server.to_owned());
        }
    }

    /// Whether the default connection of a server was started for an attached session of a principal.
    pub(in crate::engine) fn is_reserved(&self, principal: &str, server: &str) -> bool {
        self.any_session(principal, |present| present.reserved.contains(server))
    }

    /// Whether a session of a principal is attached that has an MCP client.
    pub(in crate::engine) fn has_client(&self, principal: &str) -> bool {
        self.any_session(principal, |present| present.class.is_some())
    }

    /// Returns the class of the principal's oldest session with an MCP client.
    pub(in crate::engine) fn first_class(&self, principal: &str) -> Option<CapabilityClass> {
        let callers = self.callers();
        let theirs = callers
            .sessions
            .values()
            .filter(|present| **present.caller.principal.id() == *principal);
        let clients = theirs.filter_map(|present| Some((present.since, present.class.clone()?)));
        clients.min_by_key(|(since, _)| *since).map(|(_, class)| class)
    }

    fn any_session(&self, principal: &str, is_so: impl Fn(&AttachedSession) -> bool) -> bool {
        let callers = self.callers();
        let mut theirs = callers
            .sessions
            .values()
            .filter(|present| **present.caller.principal.id() == *principal);
        theirs.any(is_so)
    }

    /// Returns the servers that a session has called, each with how often.
    pub(in crate::engine) fn used_by(&self, session: &str) -> Vec<(String, u64)> {
        let callers = self.callers();
        let used = callers.sessions.get(session).map(|present| &present.used);
        used.into_iter().flatten().map(|(server, calls)| (server.clone(), *calls)).collect()
    }

    /// Sets the task that will end the workspace, in place of the former one.
    pub(in crate::engine) fn set_ending(&self, waiting: JoinHandle<Option<()>>) {
        let waiting = AbortOnDropHandle::new(waiting);
        *self.ending.lock() = Some(waiting);
    }

    /// Whether no session is attached, and none has come since.
    pub(in crate::engine) fn is_deserted(&self, arrivals: u64) -> bool {
        let callers = self.callers();
        callers.sessions.is_empty() && callers.arrivals == arrivals
    }

    /// Remembers that a server mentioned a resource to a session.
    pub(crate) fn remember_mention(&self, session: &str, uri: &str, server: &str) {
        let mut mentions = self.mentions.lock();
        mentions.note((session.to_owned(), uri.to_owned()), server);
    }

    /// Returns the server that last mentioned a resource to a session.
    pub(crate) fn mentioning_server(&self, session: &str, uri: &str) -> Option<String> {
        let mentions = self.mentions.lock();
        mentions.servers.get(&(session.to_owned(), uri.to_owned())).cloned()
    }

    fn callers(&self) -> MutexGuard<'_, AttachedSessions> {
        self.callers.lock()
    }

    fn release_session(&self, session: &str) {
        let left = {
            let mut callers = self.callers();
            let Some(present) = callers.sessions.get_mut(session) else { return };
            present.handles -= 1;
            if present.handles > 0 {
                return;
            }
            callers.sessions.remove(session);
            if callers.sessions.is_empty() {
                RemainingSessions::Nobody(callers.arrivals)
            } else {
                RemainingSessions::Others
            }
        };
        (self.left)(&self.id, Departure::Session { session, left });
    }
}

impl fmt::Debug for WorkspaceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing").field("id", &self.id).finish_non_exhaustive()
    }
}

// === impl Mentions ===

impl Mentions {
    fn note(&mut self, at: (String, String), server: &str) {
        if self.servers.insert(at.clone(), server.to_owned()).is_none() {
            self.order.push_back(at);
        }
        if self.order.len() > MAX_MENTIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.servers.remove(&oldest);
        }
    }
}

// === impl SessionLease ===

impl Drop for SessionLease {
    fn drop(&mut self) {
        if let Some(standing) = self.standing.upgrade() {
            standing.release_session(&self.session);
        }
    }
}

impl fmt::Debug for SessionLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({})", self.session)
    }
}
