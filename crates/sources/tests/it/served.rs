//! Tests that the desired state reaches the engine, and that unchanged servers are not touched.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_config::{
    Desired, EDITOR_SERVER, HostContext, PLUGINS_SERVER, Platform, ResolveOptions, Scope,
    ServerSwitch,
};
use switchboard_core::engine::{InProcessServer, ServerStatus};
use switchboard_core::{Engine, EngineOptions};
use switchboard_process::ProcessGuard;
use switchboard_sources::{PluginHost, SourcesOptions, SyncedWorkspace, WorkspaceExtras};
use switchboard_testkit::{guard_path, programs::program};

#[tokio::test]
async fn a_file_that_changes_starts_and_stops_only_what_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
    surroundings.managed_dir = folder.path().join("managed");
    let settings = surroundings.config_dir.join("settings.json");
    std::fs::create_dir_all(&surroundings.config_dir).unwrap();
    let write = |names: &[&str]| {
        let server = program("fixture-server");
        let servers: serde_json::Map<_, _> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({ "command": server, "args": [name] })))
            .collect();
        std::fs::write(&settings, json!({ "mcpServers": servers }).to_string()).unwrap();
    };
    write(&["kept", "gone"]);
    let guard = ProcessGuard::at(guard_path()).unwrap();
    let engine = Engine::start(EngineOptions::new("test", "1", guard.clone())).await;
    let options = SourcesOptions::new(guard);
    let asked = ResolveOptions::default();
    let served = SyncedWorkspace::start(
        engine.clone(),
        surroundings,
        asked,
        Vec::new(),
        options,
        WorkspaceExtras::default(),
    );
    let served = served.await;
    let id = served.workspace().clone();
    let connected = async |name: &str| {
        let mut changes = engine.changes();
        let waiting = async {
            loop {
                let snapshot = engine.snapshot(&id).unwrap();
                let view = snapshot.server(name);
                if let Some(view) =
                    view.filter(|view| matches!(view.status, ServerStatus::Connected))
                {
                    return view.stats.as_ref().unwrap().pid.unwrap();
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap()
    };
    let (kept, _) = (connected("kept").await, connected("gone").await);
    write(&["kept", "new"]);
    connected("new").await;
    assert_eq!(connected("kept").await, kept, "it was started again");
    assert!(engine.snapshot(&id).unwrap().server("gone").is_none());
    served.shutdown().await;
    engine.shutdown().await;
}

/// A plugin host that shows whether any of its servers is still held.
struct Host {
    /// Held by every server that it made.
    running: std::sync::Mutex<Weak<()>>,
}

impl PluginHost for Host {
    fn serve<'a>(
        &'a self,
        desired: &'a Desired,
        _: &'a HostContext,
    ) -> BoxFuture<'a, Result<Option<InProcessServer>, String>> {
        let running = desired.native_plugins().map(|_| Arc::new(()));
        if let Some(running) = &running {
            *self.running.lock().unwrap() = Arc::downgrade(running);
        }
        let server = running.map(|running| {
            InProcessServer::from_link(PLUGINS_SERVER, move || {
                debug_assert_eq!(Arc::strong_count(&running), 1);
                Ok(switchboard_wire::link::pair::link_pair().0)
            })
        });
        Box::pin(async move { Ok(server) })
    }
}

/// Plugins that an administrator forbids while a hub runs are stopped, and start once they are allowed.
#[tokio::test]
async fn a_policy_that_changes_reaches_native_plugins() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.into()).unwrap();
    surroundings.managed_dir = folder.path().join("managed");
    let policy = surroundings.managed_dir.join("managed-settings.json");
    std::fs::create_dir_all(&surroundings.managed_dir).unwrap();
    std::fs::create_dir_all(surroundings.config_dir.join("native")).unwrap();
    let guard = ProcessGuard::at(guard_path()).unwrap();
    let engine = Engine::start(EngineOptions::new("test", "1", guard.clone())).await;
    let host = Arc::new(Host { running: std::sync::Mutex::default() });
    let plugins: Option<Arc<dyn PluginHost>> = Some(host.clone());
    let extra = WorkspaceExtras { plugins, ..WorkspaceExtras::default() };
    let (asked, options) = (ResolveOptions::default(), SourcesOptions::new(guard));
    let served =
        SyncedWorkspace::start(engine.clone(), surroundings, asked, Vec::new(), options, extra)
            .await;
    let id = served.workspace().clone();
    let becomes = async |is: &str| {
        let mut changes = engine.changes();
        let waiting = async {
            loop {
                let snapshot = engine.snapshot(&id).unwrap();
                let view = snapshot.server(PLUGINS_SERVER).unwrap();
                let word = if view.stats.is_some() { "started" } else { view.status.word() };
                if word == is {
                    return;
                }
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "it is not {is}");
    };
    let is_running = || host.running.lock().unwrap().upgrade().is_some();
    becomes("started").await;
    assert!(is_running());
    for (text, state) in [
        (r#"{"allowedMcpServers": []}"#, "blocked"),
        (r#"{"deniedMcpServers": [{"serverName": "plugins"}]}"#, "blocked"),
        (r#"{"disabledMcpServers": ["plugins"]}"#, "disabled"),
        ("{", "blocked"),
    ] {
        std::fs::write(&policy, text).unwrap();
        becomes(state).await;
        assert!(!is_running(), "{text}");
        std::fs::write(&policy, "{}").unwrap();
        becomes("started").await;
    }
    served.shutdown().await;
    engine.shutdown().await;
}

/// An editor's server exists while its lock file does, and ends with the editor.
#[tokio::test]
async fn an_editor_that_opens_the_project_is_a_server_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let env = [("HOME".to_owned(), home.to_str().unwrap().to_owned())].into();
    let mut surroundings = HostContext::for_platform(Platform::Linux, env, home.clone()).unwrap();
    surroundings.managed_dir = home.join("managed");
    let locks = home.join(".claude/ide");
    let guard = ProcessGuard::at(guard_path()).unwrap();
    let engine = Engine::start(EngineOptions::new("test", "1", guard.clone())).await;
    let (asked, options, extra) =
        (ResolveOptions::default(), SourcesOptions::new(guard), WorkspaceExtras::default());
    let served =
        SyncedWorkspace::start(engine.clone(), surroundings, asked, Vec::new(), options, extra)
            .await;
    let id = served.workspace().clone();
    let becomes = async |is: Option<&str>| {
        let mut changes = engine.changes();
        let waiting = async {
            loop {
                let snapshot = engine.snapshot(&id).unwrap();
                let view = snapshot.server(EDITOR_SERVER);
                let word = view
                    .map(|view| if view.stats.is_some() { "started" } else { view.status.word() });
                if word == is {
                    return;
                }
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "it is not {is:?}");
    };
    becomes(None).await;
    let mut editor = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let lock = json!({ "pid": editor.id(), "workspaceFolders": [home], "ideName": "Ed" });
    std::fs::create_dir_all(&locks).unwrap();
    std::fs::write(locks.join("1.lock"), lock.to_string()).unwrap();
    becomes(Some("started")).await;
    served.files().switch(Scope::User, EDITOR_SERVER, ServerSwitch::Off).unwrap();
    becomes(Some("disabled")).await;
    served.files().switch(Scope::User, EDITOR_SERVER, ServerSwitch::On).unwrap();
    becomes(Some("started")).await;
    std::fs::remove_file(locks.join("1.lock")).unwrap();
    becomes(None).await;
    std::fs::write(locks.join("2.lock"), "not JSON").unwrap();
    std::fs::write(locks.join("3.lock"), lock.to_string()).unwrap();
    becomes(Some("started")).await;
    let problems: Vec<_> = served.snapshot().problems.iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.contains("2.lock")), "{problems:?}");
    // The editor is killed, and its file stays.
    editor.kill().unwrap();
    editor.wait().unwrap();
    served.reload().await;
    becomes(None).await;
    served.shutdown().await;
    engine.shutdown().await;
}
