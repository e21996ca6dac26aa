//! Who calls: a workspace, a session in it, and what can be asked of whoever is behind it.

use std::sync::Arc;

use switchboard_config::Mode;
use switchboard_wire::json::{Edit, Raw};

use super::applied::Applied;
use super::principal::{LOCAL_PRINCIPAL, PrincipalLease, PrincipalView};
use super::workspace::{Lease, Standing};
use crate::audit::Who;
use crate::permission::Consent;
use crate::results::Policy;

const ELICITATION: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;

/// What a session brings along. Start from [`Session::new`] and change what differs.
#[derive(Debug, Clone)]
pub struct Session {
    /// Names the session among all others.
    pub id: String,
    /// Whom it speaks for: [`LOCAL_PRINCIPAL`], or anybody else that was let in.
    pub principal: String,
    /// `capabilities`, as its client declared them.
    pub capabilities: Raw,
    /// Who answers the questions of its calls.
    pub answers: Answers,
    /// What happens to calls that no rule decides; `None`: what the settings say, else `usual_mode`.
    pub mode: Option<Mode>,
    /// The mode where neither the session nor the settings name one.
    pub usual_mode: Mode,
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
    /// Its id, which every call under way holds.
    id: Arc<str>,
    /// What a modern server may ask of whoever is behind its calls.
    asked: Raw,
    /// The same, for the record of its calls, which may outlive it.
    who: Arc<Who>,
    principal: PrincipalLease,
    _lease: Lease,
}

// === impl Session ===

impl Session {
    /// A session that answers questions itself, with the usual limits.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            principal: LOCAL_PRINCIPAL.to_owned(),
            capabilities: Raw::empty_object(),
            answers: Answers::Caller,
            mode: None,
            usual_mode: Mode::Default,
            consent: Consent::None,
            results: Policy::local(),
            client: String::new(),
            transport: "",
        }
    }
}

// === impl Caller ===

impl Caller {
    pub(super) fn new(session: Session, principal: PrincipalLease) -> Self {
        let workspace = principal.workspace();
        let who = Arc::new(Who {
            workspace: workspace.applied().desired.root.clone(),
            session: session.id.clone(),
            client: session.client.clone(),
            principal: session.principal.clone(),
            transport: session.transport,
        });
        let lease = workspace.lease(&who);
        let (id, asked) = (session.id.as_str().into(), askable(&session.capabilities));
        Self(Arc::new(Attached { session, id, asked, who, principal, _lease: lease }))
    }

    /// What it brought along.
    pub fn session(&self) -> &Session {
        &self.0.session
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    pub(crate) fn asked(&self) -> &Raw {
        &self.0.asked
    }

    pub(crate) fn who(&self) -> &Arc<Who> {
        &self.0.who
    }

    pub(crate) fn workspace(&self) -> &Arc<Standing> {
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
    pub(crate) fn applied(&self) -> Arc<Applied> {
        self.view().applied()
    }

    /// Whether its client declared a capability, by its path.
    pub(crate) fn can(&self, path: &[&str]) -> bool {
        declares(&self.0.session.capabilities, path)
    }
}

fn declares(capabilities: &Raw, path: &[&str]) -> bool {
    !matches!(capabilities.peek(path), Ok(None | Some("false" | "null")) | Err(_))
}

/// Forms and pages can always be shown to somebody, or be answered *cancel*; the rest is as the client declares it.
fn askable(capabilities: &Raw) -> Raw {
    let ours = Raw::parse(ELICITATION).unwrap_or_else(|_| Raw::empty_object());
    let sampling = declares(capabilities, &["sampling"])
        .then(|| capabilities.get("sampling").ok().flatten().unwrap_or_else(Raw::empty_object));
    let sampling = sampling.as_ref().map(|sampling| Edit::set(&["sampling"], sampling.as_str()));
    let roots = declares(capabilities, &["roots"]).then(|| Edit::set(&["roots"], "{}"));
    let edits: Vec<_> = sampling.into_iter().chain(roots).collect();
    ours.with(&edits).unwrap_or(ours)
}
