//! Test of a full disk.
//!
//! The test runs itself again in a mount namespace of its own, where the engine's folder is a small disk.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use switchboard_core::EngineProblemKind;
use switchboard_testkit::programs::program;

use super::world::World;

/// Says where the small disk is, to the run that has one.
const SMALL_DISK: &str = "SWITCHBOARD_TEST_SMALL_DISK";

#[test]
fn a_full_disk_costs_the_rest_of_one_result() {
    if let Some(disk) = std::env::var_os(SMALL_DISK) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(on_a_small_disk(disk.into()));
    }
    // Built out here: it may take room.
    program("faulty");
    let disk = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=1m none "$1" && shift && exec "$@""#;
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(disk.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "faults::disk::a_full_disk_costs_the_rest_of_one_result", "--nocapture"])
        .env(SMALL_DISK, disk.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("unshare: "), "mount namespaces are needed: {said}");
    assert!(output.status.success(), "{}\n{said}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

async fn on_a_small_disk(disk: PathBuf) {
    let entries = json!({ "vast": { "command": program("faulty") } });
    let state = disk.clone();
    let world = World::with(&entries, |options| options.state_dir = Some(state)).await;
    let small = json!({ "bytes": 200_000 });
    let kept = world.call("vast", "big", &small).await.unwrap().limited.unwrap();
    let first = kept.spilled.expect("there is room for this one").path;

    let large = json!({ "bytes": 4 << 20 });
    for _ in 0..3 {
        let outcome = world.call("vast", "big", &large).await.unwrap();
        let kept = outcome.limited.unwrap();
        let problem = kept.problem.expect("nobody says that the disk is full");
        assert_eq!(problem.kind, EngineProblemKind::Storage);
        assert!(problem.message.contains("No space left"), "{problem:?}");
        assert!(kept.truncated && kept.spilled.is_none());
        let text = outcome.result.as_str();
        assert!(text.contains("truncated") && text.len() < 110_000, "{} bytes", text.len());
        assert!(text.contains(&"x".repeat(90_000)), "it begins as the server wrote it");
        world.others_go_on().await;
    }
    // What was there is still there, and half a file is not.
    assert_eq!(std::fs::metadata(&first).unwrap().len(), 200_000);
    let kept = world.call("vast", "big", &small).await.unwrap().limited.unwrap();
    assert!(kept.spilled.is_some(), "{:?}", kept.problem);
    world.end().await;
}
