//! What files say reaches the engine, and only what they change is touched.

use std::time::Duration;

use serde_json::json;
use switchboard_config::{Asked, Platform, Surroundings};
use switchboard_core::engine::Status;
use switchboard_core::{Engine, EngineOptions};
use switchboard_gateway::hub::{Extra, Options, Served};
use switchboard_testkit::{guard_path, programs::program};
use switchboard_wire::process::Guard;

#[tokio::test]
async fn a_file_that_changes_starts_and_stops_only_what_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap().to_owned();
    let env = [("HOME".to_owned(), home.clone())].into();
    let mut surroundings = Surroundings::usual(Platform::Linux, env, home.into()).unwrap();
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
    let guard = Guard::at(guard_path()).unwrap();
    let engine = Engine::start(EngineOptions::new("test", "1", guard.clone())).await;
    let options = Options::new(guard);
    let asked = Asked::default();
    let served =
        Served::start(engine.clone(), surroundings, asked, Vec::new(), options, Extra::default());
    let served = served.await;
    let id = served.workspace().clone();
    let connected = async |name: &str| {
        let mut changes = engine.changes();
        let waiting = async {
            loop {
                let snapshot = engine.snapshot(&id).unwrap();
                let view = snapshot.server(name);
                if let Some(view) = view.filter(|view| matches!(view.status, Status::Connected)) {
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
