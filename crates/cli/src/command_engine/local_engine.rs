//! An engine for one command in this process, which ends with the command.
//!
//! Used by `command_engine` if no hub runs. It does not watch files: the configuration is read once.

use std::sync::Arc;

use switchboard_auth::UserPresence;
use switchboard_config::{Desired, StartPolicy};
use switchboard_core::engine::{InProcessServer, ProcessEnvironment};
use switchboard_core::permission::UserConsent;
use switchboard_core::{
    Caller as Attached, Engine, Session, Workspace, WorkspaceId, WorkspaceSnapshot,
};
use switchboard_hub::engine_options;

use super::{FallbackServer, ResultLimit};
use crate::plugins;
use crate::report::Failure;
use crate::surroundings::Caller;

/// The engine, and a session in it.
pub(super) struct LocalEngine {
    pub(super) engine: Engine,
    pub(super) attached: Attached,
    workspace: WorkspaceId,
}

// === impl Own ===

impl LocalEngine {
    pub(super) async fn open(
        caller: &Caller,
        desired: &Desired,
        (room, start): (ResultLimit, StartPolicy),
        otherwise: FallbackServer,
    ) -> Result<Self, Failure> {
        let environment = environment(desired, caller);
        let mut options = engine_options(desired, &caller.program_context(), UserPresence::Nobody)?;
        options.start = start;
        let is_empty = desired.is_unconfigured(caller.resolve_options());
        let in_process: Vec<InProcessServer> = match otherwise {
            FallbackServer::Builtin if is_empty => vec![plugins::builtin()?],
            _ => plugins::configured_server(desired, &caller.surroundings)
                .await?
                .into_iter()
                .collect(),
        };
        let id = WorkspaceId::from_desired(desired, &environment, "");
        let workspace = Workspace { id: id.clone(), environment, in_process };
        let engine = Engine::start(options).await;
        engine.apply(&workspace, desired.clone());
        let attached = engine.attach(&id, session(room));
        let attached =
            attached.map_err(|error| Failure::new("the servers cannot be used", error))?;
        Ok(Self { engine, attached, workspace: id })
    }

    pub(super) fn snapshot(&self) -> Arc<WorkspaceSnapshot> {
        // The workspace exists as long as this session is attached to it.
        self.engine
            .snapshot(&self.workspace)
            .unwrap_or_else(|| Arc::new(WorkspaceSnapshot::default()))
    }

    pub(super) async fn check_answers(&self, server: &str) {
        self.engine.check_answers(&self.workspace, server).await;
    }

    pub(super) async fn close(self) {
        let Self { engine, attached, .. } = self;
        drop(attached);
        engine.shutdown().await;
    }
}

fn session(room: ResultLimit) -> Session {
    let mut session = Session::new(format!("cli-{}", std::process::id()));
    "switchboard".clone_into(&mut session.client);
    session.transport = "cli";
    session.consent = UserConsent::Typed;
    session.results = room.to_policy();
    session
}

/// The caller's environment, with the variables of the settings on top.
fn environment(desired: &Desired, caller: &Caller) -> ProcessEnvironment {
    let set = &desired.settings.env;
    let is_set =
        |name: &std::ffi::OsString| name.to_str().is_some_and(|name| set.contains_key(name));
    let kept = caller.variables.iter().filter(|(name, _)| !is_set(name)).cloned();
    let set = set.iter().map(|(name, value)| (name.into(), value.value.clone().into()));
    kept.chain(set).collect()
}
