//! What stands behind the API: whoever makes workspaces.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use switchboard_config as config;
use switchboard_core::WorkspaceId;
use switchboard_core::permission::UserConsent;
use switchboard_core::results::{BlobPolicy, ResultPolicy};
use switchboard_core::{
    Session,
    engine::{CallVariables, QuestionAnswerer},
};
use switchboard_wire::json::Raw;

use super::{AdminApi, AdminProblem};
use switchboard_sources::SyncedWorkspace;

/// Makes workspaces, and the faces they are served by.
pub trait WorkspaceHost: Send + Sync + 'static {
    /// Opens a workspace, with its files as they are now, and keeps it current while what is returned lives.
    fn open<'a>(
        &'a self,
        whose: &'a WorkspaceRequest,
    ) -> BoxFuture<'a, Result<OpenWorkspace, AdminProblem>>;

    /// Every workspace that is open.
    fn workspaces(&self) -> Vec<WorkspaceSummary>;

    /// One of them, with the files it is made of.
    fn find_workspace(&self, id: &WorkspaceId) -> Option<Arc<SyncedWorkspace>>;

    /// How to tell somebody that their files could not be changed, and what they can do.
    fn change_problem(&self, doing: &str, error: &config::Error) -> AdminProblem;

    /// Serves a workspace over the network as `wanted` says, while what is returned lives. Where the address is the
    /// API's own, that makes way.
    fn serve_faces<'a>(
        &'a self,
        admin: &'a AdminApi,
        whose: &'a WorkspaceRequest,
        wanted: &'a Raw,
    ) -> BoxFuture<'a, Result<ServedFaces, AdminProblem>>;
}

/// Whose workspace is wanted.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRequest {
    /// The working directory.
    pub cwd: PathBuf,
    /// The environment. Variables that are not text stay behind.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The agent, if one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Who asks, for people.
    #[serde(default)]
    pub client: String,
    /// How much room a result has.
    #[serde(default)]
    pub results: ResultLimit,
}

/// How large a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultLimit {
    /// Somebody reads it from a screen.
    #[default]
    Screen,
    /// It goes on to another program, whole.
    Pipe,
}

/// A workspace that is open.
pub struct OpenWorkspace {
    /// Names it to the engine.
    pub id: WorkspaceId,
    /// Keeps it current.
    pub held: Box<dyn Any + Send + Sync>,
}

/// Faces that are served.
pub struct ServedFaces {
    /// Where.
    pub address: SocketAddr,
    /// The console beside them.
    pub facts: FacesInfo,
    /// Ends when they do; dropped, they end.
    pub serving: BoxFuture<'static, Result<(), AdminProblem>>,
}

/// The console beside served faces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FacesInfo {
    /// What opens the console there, to be appended to the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// Why there is no console.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_console: Option<String>,
}

/// The first event of `POST /faces`: the faces are served from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyFaces {
    /// Where.
    pub address: SocketAddr,
    /// The console beside them.
    #[serde(default)]
    pub facts: FacesInfo,
}

/// A workspace, for a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSummary {
    /// Names it.
    pub id: String,
    /// The project's root.
    pub root: PathBuf,
    /// The agent, if one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

// === impl WorkspaceRequest ===

impl WorkspaceRequest {
    /// The session of whoever opened the workspace. A person typed what it calls.
    pub(super) fn to_session(&self, id: String) -> Session {
        let mut session = Session::new(id);
        session.client.clone_from(&self.client);
        session.transport = "admin";
        session.consent = UserConsent::Typed;
        session.answers = QuestionAnswerer::Caller;
        session.results = self.results.to_policy();
        let environment = self.env.iter().map(|(name, value)| (name.into(), value.into()));
        session.variables = Some(CallVariables::from_environment(&environment.collect()));
        session
    }
}

/// The environment may hold secrets.
impl fmt::Debug for WorkspaceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whose")
            .field("cwd", &self.cwd)
            .field("agent", &self.agent)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

// === impl ResultLimit ===

impl ResultLimit {
    /// What becomes of results. Blobs are for the person, who gets them as they are; a pipe gets all text.
    pub fn to_policy(self) -> ResultPolicy {
        let local = ResultPolicy { blobs: BlobPolicy::Leave, ..ResultPolicy::local() };
        match self {
            Self::Screen => local,
            Self::Pipe => ResultPolicy { max_chars: usize::MAX, max_tokens: usize::MAX, ..local },
        }
    }
}
