//! An engine in a folder of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::{
    Desired, DynamicConfig, EnvironmentVariables, HostContext, Platform, ResolveOptions,
    resolve_desired,
};
use switchboard_core::{
    Caller, Engine, EngineOptions, Session, Workspace, WorkspaceId, WorkspaceSnapshot,
};
use switchboard_process::ProcessGuard;
use switchboard_testkit::guard_path;
use tempfile::TempDir;

/// Nothing here takes longer.
const LONG: Duration = Duration::from_secs(300);

/// The rule by which calls are allowed.
const SETTINGS: &str = r#"{"permissions":{"allow":["mcp__echo__echo"]}}"#;

/// An engine and one workspace in it.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) workspace: Workspace,
    folder: TempDir,
}

// === impl Bench ===

impl Bench {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join(".config/switchboard/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(settings, SETTINGS).unwrap();
        let mut options = EngineOptions::new("bench", "1", ProcessGuard::at(guard_path()).unwrap());
        options.state_dir = Some(folder.path().join("state"));
        let id = WorkspaceId::from("bench");
        let workspace = Workspace { id, environment: Arc::new([]), in_process: Vec::new() };
        Self { engine: Engine::start(options).await, workspace, folder }
    }

    /// Makes the workspace's servers and those of `configuration` the ones there are.
    pub(crate) fn apply(&self, configuration: &str) {
        self.engine.apply(&self.workspace, desired(self.folder.path(), configuration));
    }

    /// Waits until so many tools are there.
    pub(crate) async fn until(&self, tools: usize) -> Arc<WorkspaceSnapshot> {
        let mut changes = self.engine.changes();
        let waiting = async {
            loop {
                let snapshot = self.engine.snapshot(&self.workspace.id).unwrap();
                if snapshot.catalog.tools().len() >= tools {
                    return snapshot;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(LONG, waiting).await.expect("the tools never come")
    }

    pub(crate) fn caller(&self) -> Caller {
        self.engine.attach(&self.workspace.id, Session::new("bench")).unwrap()
    }

    pub(crate) async fn end(self) {
        self.engine.shutdown().await;
    }
}

fn desired(home: &Path, configuration: &str) -> Desired {
    let home = home.to_str().unwrap().to_owned();
    let env: EnvironmentVariables = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings =
        HostContext::for_platform(Platform::Linux, env, home.clone().into()).unwrap();
    surroundings.managed_dir = Path::new(&home).join("managed");
    let dynamic = vec![DynamicConfig::Text(configuration.to_owned())];
    resolve_desired(&surroundings, &ResolveOptions { dynamic, ..ResolveOptions::default() })
}
