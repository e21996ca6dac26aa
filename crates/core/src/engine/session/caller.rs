//! The caller of a call: a session attached to a workspace, with its principal and its client's capabilities.
//!
//! Used by `dispatch` for every call; made by `Engine::attach` for the gateway, the hub and the commands. It does
//! not choose connections (`choose_connection`).

use std::sync::Arc;

use switchboard_config::PermissionMode;
use switchboard_wire::Era;
use switchboard_wire::json::{JsonEdit, Raw};

use crate::audit::CallerIdentity;
use crate::catalog::NameStyle;
use crate::connection::{CapabilityClass, Connection, OpaqueCapabilities, declares};
use crate::engine::session::bindings::SessionBindings;
use crate::engine::supervisor::applied::{AppliedServer, AppliedState};
use crate::engine::workspace::call_limits::CallVariables;
use crate::engine::workspace::principal::{PrincipalLease, PrincipalView};
use crate::engine::workspace::state::{SessionLease, WorkspaceState};
use crate::permission::{RulePrincipal, UserConsent};
use crate::principal::Principal;
use crate::results::ResultPolicy;

/// The properties of a session. Start from [`Session::new`] and change what differs.
#[derive(Debug, Clone)]
pub struct Session {
    /// The unique id of the session.
    pub id: String,
    /// The principal that the session acts for: the local one, or another that a face authenticated.
    pub principal: Principal,
    /// `capabilities`, as the client declared them. [`Session::new`] declares forms and pages.
    pub capabilities: Raw,
    /// The era of the client; `None`: no MCP client, which uses the modern era where a server supports it.
    pub era: Option<Era>,
    /// Who answers the questions of its calls.
    pub answers: QuestionAnswerer,
    /// How many clients make its calls.
    pub clients: SessionClients,
    /// The mode for calls that no rule decides; `None`: the settings' mode, else `usual_mode`.
    pub mode: Option<PermissionMode>,
    /// The mode where neither the session nor the settings name one.
    pub usual_mode: PermissionMode,
    /// Whether a person typed each call.
    pub consent: UserConsent,
    /// Whether the arguments of its calls are checked against the tool's schema.
    pub argument_check: ArgumentCheck,
    /// The limits for results.
    pub results: ResultPolicy,
    /// The numbers in its client's environment; `None`: those of the workspace's environment.
    pub variables: Option<CallVariables>,
    /// The style of the names in its requests and its errors.
    pub names: NameStyle,
    /// The name of the client, for people.
    pub client: String,
    /// The only server that the client sees; `None`: all of the workspace.
    pub only_server: Option<String>,
    /// The transport of the client, for people: `http`, `sse`, `ws`, `socket`, `stdio`, `cli`.
    pub transport: &'static str,
}

/// Who answers the questions of a session's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionAnswerer {
    /// The caller: questions are events of [`crate::dispatch::RunningCall::next`].
    Caller,
    /// The watchers of the engine's queue.
    Queue,
}

/// How many clients make the calls of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionClients {
    /// One: a question that one call led to can be put to any of its calls.
    One,
    /// None: the session only keeps its workspace, and starts no server.
    None,
    /// Possibly several: modern clients over HTTP have no sessions, so all clients of a principal share one.
    Several,
}

/// When the arguments of a session's calls are checked against the tool's schema before they are sent. Otherwise
/// only the server checks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentCheck {
    /// For every call.
    Always,
    /// Where `checkArguments` of the settings says so.
    WhenConfigured,
}

/// A session attached to a workspace. Clones share it; dropping the last one ends the session.
#[derive(Debug, Clone)]
pub struct Caller(Arc<CallerInner>);

#[derive(Debug)]
struct CallerInner {
    session: Session,
    /// The session's id, shared with every running call.
    id: Arc<str>,
    /// The capabilities of the client that a modern server may use.
    askable: Raw,
    /// Those capabilities, and the ones that the queue of questions provides for the client.
    askable_with_queue: Raw,
    /// The capabilities that are declared to a legacy server.
    class: CapabilityClass,
    /// The connections that its calls use instead of its principal's default ones.
    bindings: SessionBindings,
    /// The caller's identity for records of calls, which may outlive the session.
    who: Arc<CallerIdentity>,
    principal: PrincipalLease,
    /// The principal, for conditions of rules.
    rule_principal: RulePrincipal,
    _lease: SessionLease,
}

// === impl Session ===

impl Session {
    /// Makes a session that answers questions itself, with the default limits.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            principal: Principal::local(),
            capabilities: CapabilityClass::QUEUE.capabilities(),
            era: None,
            answers: QuestionAnswerer::Caller,
            clients: SessionClients::One,
            mode: None,
            usual_mode: PermissionMode::Default,
            consent: UserConsent::None,
            argument_check: ArgumentCheck::Always,
            results: ResultPolicy::local(),
            variables: None,
            names: NameStyle::Full,
            client: String::new(),
            only_server: None,
            transport: "",
        }
    }
}

// === impl Caller ===

impl Caller {
    pub(in crate::engine) fn new(session: Session, principal: PrincipalLease) -> Self {
        let workspace = principal.workspace();
        let who = Arc::new(CallerIdentity {
            workspace: workspace.applied().desired.root.clone(),
            session: session.id.clone(),
            client: session.client.clone(),
            principal: session.principal.clone(),
            transport: session.transport,
        });
        let class = CapabilityClass::from_capabilities(&session.capabilities);
        let declared = OpaqueCapabilities::of_client(&session.capabilities);
        let (client, only) = (session.era.map(|_| class.clone()), session.only_server.as_deref());
        let lease = workspace.lease(&who, client, &declared, only);
        Self(Arc::new(CallerInner {
            id: session.id.as_str().into(),
            askable: declared_capabilities(&session.capabilities, &class),
            askable_with_queue: declared_capabilities(
                &session.capabilities,
                &class.clone().union(&CapabilityClass::QUEUE),
            ),
            class,
            bindings: SessionBindings::default(),
            rule_principal: RulePrincipal::from(&session.principal),
            session,
            who,
            principal,
            _lease: lease,
        }))
    }

    /// Returns the properties of the session.
    pub fn session(&self) -> &Session {
        &self.0.session
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// Returns the capabilities that a modern server may use with a call. Only what can be answered is declared:
    /// forms and pages that the client cannot show need a watcher of the queue.
    pub(crate) fn askable_capabilities(&self, is_queue_watched: impl FnOnce() -> bool) -> &Raw {
        if CapabilityClass::QUEUE.is_within(&self.0.class) || !is_queue_watched() {
            return &self.0.askable;
        }
        &self.0.askable_with_queue
    }

    /// Returns the capabilities that are declared to a legacy server.
    pub(crate) fn class(&self) -> &CapabilityClass {
        &self.0.class
    }

    /// Returns the connection of a server that its calls use, as far as it is decided.
    pub(crate) fn bound_connection(&self, placed: &AppliedServer) -> Arc<Connection> {
        match self.0.bindings.get(placed) {
            Some(binding) => Arc::clone(binding.connection()),
            None => Arc::clone(&self.current_server(placed).connection),
        }
    }

    /// Returns a server with its current default connection, which may have changed since `placed` was looked up.
    pub(in crate::engine) fn current_server(&self, placed: &AppliedServer) -> Arc<AppliedServer> {
        let applied = self.applied();
        let now = applied.server(&placed.name);
        let is_same =
            |now: &&Arc<AppliedServer>| now.connection.entry_key() == placed.connection.entry_key();
        now.filter(is_same).map_or_else(|| Arc::new(placed.clone()), Arc::clone)
    }

    /// Returns its principal with the groups of this session, for conditions of rules.
    pub(crate) fn rule_principal(&self) -> &RulePrincipal {
        &self.0.rule_principal
    }

    pub(in crate::engine) fn bindings(&self) -> &SessionBindings {
        &self.0.bindings
    }

    pub(crate) fn identity(&self) -> &Arc<CallerIdentity> {
        &self.0.who
    }

    pub(crate) fn workspace(&self) -> &Arc<WorkspaceState> {
        self.0.principal.workspace()
    }

    /// Returns the lease of its principal.
    pub fn principal(&self) -> &PrincipalLease {
        &self.0.principal
    }

    /// Returns its principal's view of the workspace.
    pub(crate) fn view(&self) -> &Arc<PrincipalView> {
        self.0.principal.view()
    }

    /// Returns the applied state, with its principal's connections.
    pub(crate) fn applied(&self) -> Arc<AppliedState> {
        self.view().applied()
    }

    /// Whether its client declared a capability, by its path.
    pub(crate) fn declares_capability(&self, path: &[&str]) -> bool {
        declares(&self.0.session.capabilities, path)
    }
}

/// Returns the capabilities that are declared with a call: the client's class with its extensions, its roots, and its
/// sampling options.
fn declared_capabilities(capabilities: &Raw, class: &CapabilityClass) -> Raw {
    let ours = class.capabilities();
    let own = |name: &str| capabilities.get(name).ok().flatten().unwrap_or_else(Raw::empty_object);
    let sampling = class.sampling.then(|| own("sampling"));
    let sampling =
        sampling.as_ref().map(|sampling| JsonEdit::set(&["sampling"], sampling.as_str()));
    let roots = declares(capabilities, &["roots"]).then(|| JsonEdit::set(&["roots"], "{}"));
    let edits: Vec<_> = sampling.into_iter().chain(roots).collect();
    ours.overwrite(&edits)
}
