//! Who calls: a workspace, a session in it, and what can be asked of whoever is behind it.

use std::sync::Arc;

use switchboard_config::Mode;
use switchboard_wire::Era;
use switchboard_wire::json::{JsonEdit, Raw};

use crate::audit::CallerIdentity;
use crate::catalog::NameStyle;
use crate::connection::{CapabilityClass, Connection, declares};
use crate::engine::session::bindings::SessionBindings;
use crate::engine::supervisor::applied::{AppliedServer, AppliedState};
use crate::engine::workspace::call_limits::CallVariables;
use crate::engine::workspace::principal::{LOCAL_PRINCIPAL, PrincipalLease, PrincipalView};
use crate::engine::workspace::state::{SessionLease, WorkspaceState};
use crate::permission::UserConsent;
use crate::results::ResultPolicy;

/// What a session brings along. Start from [`Session::new`] and change what differs.
#[derive(Debug, Clone)]
pub struct Session {
    /// Names the session among all others.
    pub id: String,
    /// Whom it speaks for: [`LOCAL_PRINCIPAL`], or anybody else that was let in.
    pub principal: String,
    /// `capabilities`, as its client declared them. A [`Session::new`] fills in forms and opens pages.
    pub capabilities: Raw,
    /// The era that its client speaks; `None`: it speaks none, and takes the modern one where a server has it.
    pub era: Option<Era>,
    /// Who answers the questions of its calls.
    pub answers: QuestionAnswerer,
    /// How many clients make its calls.
    pub clients: SessionClients,
    /// What happens to calls that no rule decides; `None`: what the settings say, else `usual_mode`.
    pub mode: Option<Mode>,
    /// The mode where neither the session nor the settings name one.
    pub usual_mode: Mode,
    /// Whether a person typed each call.
    pub consent: UserConsent,
    /// Whether the arguments of its calls are checked against the tool's schema.
    pub argument_check: ArgumentCheck,
    /// What becomes of large results.
    pub results: ResultPolicy,
    /// The numbers of its client's environment; `None`: those of the workspace's environment.
    pub variables: Option<CallVariables>,
    /// The style of the names in its requests, and in the errors that it gets.
    pub names: NameStyle,
    /// The name of the client, for people.
    pub client: String,
    /// How the client is reached, for people: `http`, `sse`, `ws`, `socket`, `stdio`, `cli`.
    pub transport: &'static str,
}

/// Who answers the questions of a session's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionAnswerer {
    /// Whoever made the call: questions come out of [`crate::dispatch::RunningCall::next`].
    Caller,
    /// Whoever watches the engine's queue.
    Queue,
}

/// How many clients make the calls of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionClients {
    /// One: a question that one call led to can be put to any of its calls.
    One,
    /// Perhaps several: modern clients over HTTP have no sessions, so all of a principal share one.
    Several,
}

/// When the arguments of a session's calls are checked against the tool's schema before they are sent. Where they are not,
/// the server alone judges them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentCheck {
    /// For every call.
    Always,
    /// Where `checkArguments` of the settings says so.
    WhenConfigured,
}

/// A session attached to a workspace. Clones share it; when the last is dropped, the session has ended.
#[derive(Debug, Clone)]
pub struct Caller(Arc<CallerInner>);

#[derive(Debug)]
struct CallerInner {
    session: Session,
    /// Its id, which every call under way holds.
    id: Arc<str>,
    /// What a modern server may ask of its client.
    askable: Raw,
    /// The same where the queue of questions answers for the client.
    askable_with_queue: Raw,
    /// What a legacy server is told of its client.
    class: CapabilityClass,
    /// The connections that its calls take where those are not its principal's usual ones.
    seats: SessionBindings,
    /// The same, for the record of its calls, which may outlive it.
    who: Arc<CallerIdentity>,
    principal: PrincipalLease,
    _lease: SessionLease,
}

// === impl Session ===

impl Session {
    /// A session that answers questions itself, with the usual limits.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            principal: LOCAL_PRINCIPAL.to_owned(),
            capabilities: CapabilityClass::QUEUE.capabilities(),
            era: None,
            answers: QuestionAnswerer::Caller,
            clients: SessionClients::One,
            mode: None,
            usual_mode: Mode::Default,
            consent: UserConsent::None,
            argument_check: ArgumentCheck::Always,
            results: ResultPolicy::local(),
            variables: None,
            names: NameStyle::Full,
            client: String::new(),
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
        let lease = workspace.lease(&who);
        let class = CapabilityClass::from_capabilities(&session.capabilities);
        Self(Arc::new(CallerInner {
            id: session.id.as_str().into(),
            askable: declared_capabilities(&session.capabilities, class),
            askable_with_queue: declared_capabilities(
                &session.capabilities,
                class.union(CapabilityClass::QUEUE),
            ),
            class,
            seats: SessionBindings::default(),
            session,
            who,
            principal,
            _lease: lease,
        }))
    }

    /// What it brought along.
    pub fn session(&self) -> &Session {
        &self.0.session
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// What a modern server may ask, with a call. Nothing is declared that nobody will answer: what the client
    /// cannot show, the queue has to.
    pub(crate) fn askable_capabilities(&self, is_queue_watched: impl FnOnce() -> bool) -> &Raw {
        if CapabilityClass::QUEUE.is_within(self.0.class) || !is_queue_watched() {
            return &self.0.askable;
        }
        &self.0.askable_with_queue
    }

    /// What a legacy server is told that its client can do.
    pub(in crate::engine) fn class(&self) -> CapabilityClass {
        self.0.class
    }

    /// The connection of a server that its calls take, as far as that is decided.
    pub(crate) fn bound_connection(&self, placed: &AppliedServer) -> Arc<Connection> {
        match self.0.seats.get(placed) {
            Some(seat) => Arc::clone(seat.connection()),
            None => Arc::clone(&self.current_server(placed).connection),
        }
    }

    /// A server with its usual connection of now: that may have become another since `placed` was looked up.
    pub(in crate::engine) fn current_server(&self, placed: &AppliedServer) -> Arc<AppliedServer> {
        let applied = self.applied();
        let now = applied.server(&placed.name);
        let is_same =
            |now: &&Arc<AppliedServer>| now.connection.entry_key() == placed.connection.entry_key();
        now.filter(is_same).map_or_else(|| Arc::new(placed.clone()), Arc::clone)
    }

    pub(in crate::engine) fn bindings(&self) -> &SessionBindings {
        &self.0.seats
    }

    pub(crate) fn identity(&self) -> &Arc<CallerIdentity> {
        &self.0.who
    }

    pub(crate) fn workspace(&self) -> &Arc<WorkspaceState> {
        self.0.principal.workspace()
    }

    /// Its principal's place in the workspace.
    pub fn principal(&self) -> &PrincipalLease {
        &self.0.principal
    }

    /// What its principal has of the workspace.
    pub(crate) fn view(&self) -> &Arc<PrincipalView> {
        self.0.principal.view()
    }

    /// What was applied, with its principal's connections.
    pub(crate) fn applied(&self) -> Arc<AppliedState> {
        self.view().applied()
    }

    /// Whether its client declared a capability, by its path.
    pub(crate) fn declares_capability(&self, path: &[&str]) -> bool {
        declares(&self.0.session.capabilities, path)
    }
}

/// What is declared with a call: the client's class, its folders, and how it wants its model to be asked.
fn declared_capabilities(capabilities: &Raw, class: CapabilityClass) -> Raw {
    let ours = class.capabilities();
    let own = |name: &str| capabilities.get(name).ok().flatten().unwrap_or_else(Raw::empty_object);
    let sampling = class.sampling.then(|| own("sampling"));
    let sampling =
        sampling.as_ref().map(|sampling| JsonEdit::set(&["sampling"], sampling.as_str()));
    let roots = declares(capabilities, &["roots"]).then(|| JsonEdit::set(&["roots"], "{}"));
    let edits: Vec<_> = sampling.into_iter().chain(roots).collect();
    ours.with_edits(&edits).unwrap_or(ours)
}
