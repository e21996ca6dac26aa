//! [`WorkspaceHost`], the interface through which the admin API opens workspaces and serves faces.
//!
//! Used by `lease`, `files`, `faces` and `routes`; `cli` implements it. It does not hold state.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use switchboard_auth::SignInStore;
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

/// The client name of the console.
pub(super) const CONSOLE_CLIENT_NAME: &str = "console";

/// Opens workspaces, and serves their faces.
pub trait WorkspaceHost: Send + Sync + 'static {
    /// Opens a workspace with its files as they are now, and keeps it current while the returned value lives.
    fn open<'a>(
        &'a self,
        whose: &'a WorkspaceRequest,
    ) -> BoxFuture<'a, Result<OpenWorkspace, AdminProblem>>;

    /// All open workspaces.
    fn workspaces(&self) -> Vec<WorkspaceSummary>;

    /// An open workspace, with its configuration files.
    fn find_workspace(&self, id: &WorkspaceId) -> Option<Arc<SyncedWorkspace>>;

    /// The store of sign-ins.
    fn sign_ins(&self) -> Arc<dyn SignInStore>;

    /// The hub's program, which clients start.
    fn program(&self) -> Option<PathBuf>;

    /// The problem for a failed change of files, with a hint.
    fn change_problem(&self, doing: &str, error: &config::Error) -> AdminProblem;

    /// Serves a workspace over the network as `wanted` says, while the returned value lives. If the address is the
    /// API's own, the API moves to another port.
    fn serve_faces<'a>(
        &'a self,
        admin: &'a AdminApi,
        whose: &'a WorkspaceRequest,
        wanted: &'a Raw,
    ) -> BoxFuture<'a, Result<ServedFaces, AdminProblem>>;
}

/// The workspace that a client asks for.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRequest {
    /// The working directory.
    pub cwd: PathBuf,
    /// The environment. Variables that are not UTF-8 are left out.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The agent, if one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The name of the client, for people.
    #[serde(default)]
    pub client: String,
    /// The limit on the size of results.
    #[serde(default)]
    pub results: ResultLimit,
}

/// The limit on the size of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultLimit {
    /// A person reads it on a screen: cut as for a local client.
    #[default]
    Screen,
    /// Another program reads it: no limit.
    Pipe,
}

/// An open workspace.
pub struct OpenWorkspace {
    /// The id of the workspace in the engine.
    pub id: WorkspaceId,
    /// Keeps the workspace open and current.
    pub keep_open: Box<dyn Any + Send + Sync>,
}

/// Faces that are being served.
pub struct ServedFaces {
    /// The address of the listener.
    pub address: SocketAddr,
    /// The console beside them.
    pub facts: FacesInfo,
    /// Completes when the faces have ended; dropped, it ends them.
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

/// An open workspace, as an element of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSummary {
    /// The id of the workspace.
    pub id: String,
    /// The project's root.
    pub root: PathBuf,
    /// The agent, if one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

// === impl WorkspaceRequest ===

impl WorkspaceRequest {
    /// The request of the console, which names a workspace by its id and has no environment.
    pub(super) fn console() -> Self {
        Self { client: CONSOLE_CLIENT_NAME.to_owned(), ..Self::default() }
    }

    /// The session of the client that opened the workspace. Its calls count as typed by a person.
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

/// Without the environment, which may hold secrets.
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
    /// The result policy. Blobs stay in the result, because the person saves them; a pipe gets all text.
    pub fn to_policy(self) -> ResultPolicy {
        let local = ResultPolicy { blobs: BlobPolicy::Leave, ..ResultPolicy::local() };
        match self {
            Self::Screen => local,
            Self::Pipe => ResultPolicy { max_chars: usize::MAX, max_tokens: usize::MAX, ..local },
        }
    }
}
