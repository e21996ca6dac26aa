//! Who calls: a workspace, a session in it, and what can be asked of whoever is behind it.

use std::sync::Arc;

use switchboard_config::Mode;
use switchboard_wire::json::Raw;

use super::workspace::{Lease, Standing};
use crate::audit::Who;
use crate::permission::Consent;
use crate::results::Policy;

/// What a session brings along. Start from [`Session::new`] and change what differs.
#[derive(Debug, Clone)]
pub struct Session {
    /// Names the session among all others.
    pub id: String,
    /// Whom it speaks for.
    pub principal: String,
    /// `capabilities`, as its client declared them.
    pub capabilities: Raw,
    /// Who answers the questions of its calls.
    pub answers: Answers,
    /// What happens to calls that no rule decides; `None`: what the settings say, else `default`.
    pub mode: Option<Mode>,
    /// Whether a person typed each call.
    pub consent: Consent,
    /// What becomes of large results.
    pub results: Policy,
    /// The name of the client, for people.
    pub client: String,
    /// How the client is reached, for people: `http`, `sse`, `ws`, `socket`, `stdio`, `cli`.
    pub transport: &'static str,
}

/// Who answers the questions of a session's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// Whoever made the call: questions come out of [`crate::dispatch::Running::next`].
    Caller,
    /// Whoever watches the engine's queue.
    Queue,
}

/// A session attached to a workspace. Clones share it; when the last is dropped, the session has ended.
#[derive(Debug, Clone)]
pub struct Caller(Arc<Attached>);

#[derive(Debug)]
struct Attached {
    session: Session,
    /// The same, for the record of its calls, which may outlive it.
    who: Arc<Who>,
    workspace: Arc<Standing>,
    _lease: Lease,
}

// === impl Session ===

impl Session {
    /// A session that answers questions itself, with the usual limits.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            principal: "local".to_owned(),
            capabilities: Raw::empty_object(),
            answers: Answers::Caller,
            mode: None,
            consent: Consent::None,
            results: Policy::local(),
            client: String::new(),
            transport: "",
        }
    }
}

// === impl Caller ===

impl Caller {
    pub(super) fn new(session: Session, workspace: Arc<Standing>) -> Self {
        let who = Arc::new(Who {
            workspace: workspace.applied().desired.root.clone(),
            session: session.id.clone(),
            client: session.client.clone(),
            principal: session.principal.clone(),
            transport: session.transport,
        });
        let lease = workspace.lease(&who);
        Self(Arc::new(Attached { session, who, workspace, _lease: lease }))
    }

    /// What it brought along.
    pub fn session(&self) -> &Session {
        &self.0.session
    }

    pub(crate) fn who(&self) -> &Arc<Who> {
        &self.0.who
    }

    pub(crate) fn workspace(&self) -> &Arc<Standing> {
        &self.0.workspace
    }

    /// Whether its client declared a capability, by its path.
    pub(crate) fn can(&self, path: &[&str]) -> bool {
        let found = self.0.session.capabilities.get_path(path);
        matches!(found, Ok(Some(value)) if !matches!(value.as_str(), "false" | "null"))
    }
}
