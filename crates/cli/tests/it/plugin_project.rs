//! Tests of the Rust project that `switchboard plugin new` writes: it builds alone, and its SDK equals the one of this
//! program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::Story;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A new project, built offline with the versions of this workspace's lock file. The target folder outlives the test,
/// so that the next run has less to build.
fn check_builds(extra: &[&str], target: &str) {
    let story = Story::new();
    let made = story.quietly(&[&["plugin", "new", "mine"], extra].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let folder = story.path("mine");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target);
    fs::copy(sources().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    for step in ["test", "build"] {
        let mut command = Command::new(env!("CARGO"));
        command.args([step, "--offline"]).current_dir(&folder).env("CARGO_TARGET_DIR", &target);
        let done = command.env("RUSTFLAGS", "-D warnings").output().unwrap();
        assert!(done.status.success(), "{step}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let built = target.join("debug/libmine.so");
    let checked = story.quietly(&["--json", "plugin", "check", built.to_str().unwrap()]);
    let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(checked["tools"][0]["name"], "greet");
    assert_eq!(checked["problems"], json!([]));
}

#[test]
fn a_new_rust_project_builds_with_its_own_copy_of_the_sdk() {
    check_builds(&[], "plugin-new");
}

#[test]
fn a_new_rust_project_builds_with_a_checkout_of_the_sources() {
    check_builds(&["--sdk", sources().to_str().unwrap()], "plugin-new-sdk");
}

/// All dependencies of a new project are folders inside it, and names of the registry that the SDK itself uses.
#[test]
fn a_new_rust_project_names_no_address() {
    let story = Story::new();
    story.quietly(&["plugin", "new", "mine"]);
    for (path, text) in files(&story.path("mine"), &["toml", "md", "rs"]) {
        let addresses =
            text.contains("git =") || text.contains("http://") || text.contains("https://");
        assert!(!addresses, "{path}");
    }
    let manifest = manifest(&story.path("mine/Cargo.toml"));
    let dependencies = serde_json::to_value(&manifest["dependencies"]).unwrap();
    assert_eq!(dependencies, json!({ "switchboard-plugin-sdk": { "path": "sdk" } }));
}

/// Files below `folder` whose names end in one of `endings`, by their path in it.
fn files(folder: &Path, endings: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for file in fs::read_dir(&next).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| endings.contains(&e.to_str().unwrap())) {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_sdk_of_a_new_project_has_every_file_of_the_sources() {
    let story = Story::new();
    story.quietly(&["plugin", "new", "mine"]);
    let sdk = story.path("mine/sdk");
    for (copied, original) in [
        ("src", "crates/plugin-sdk/src"),
        ("include", "crates/plugin-sdk/include"),
        ("macros/src", "crates/plugin-macros/src"),
    ] {
        let expected = files(&sources().join(original), &["rs", "h"]);
        assert!(!expected.is_empty());
        assert!(
            files(&sdk.join(copied), &["rs", "h"]) == expected,
            "{copied} differs from {original}"
        );
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let expected = fs::read_to_string(sources().join(licence)).unwrap();
        assert_eq!(fs::read_to_string(sdk.join(licence)).unwrap(), expected);
    }
}

fn manifest(path: &Path) -> toml::Table {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// A manifest of the workspace as it would read outside of it: the keys that it inherits, filled in.
fn stand_alone(folder: &str) -> toml::Table {
    let workspace = manifest(&sources().join("Cargo.toml"));
    let workspace = &workspace["workspace"];
    let mut member = manifest(&sources().join(folder).join("Cargo.toml"));
    for ignored in ["lints", "dev-dependencies", "example"] {
        member.remove(ignored);
    }
    let package = member["package"].as_table_mut().unwrap();
    for (key, value) in package.iter_mut().filter(|(_, value)| value.is_table()) {
        *value = workspace["package"][key].clone();
    }
    for (name, wanted) in member["dependencies"].as_table_mut().unwrap().iter_mut() {
        let mut shared = workspace["dependencies"][name].clone();
        if shared.is_table()
            && let Some(extra) = wanted.get("features")
        {
            let features = shared["features"].as_array_mut().unwrap();
            features.extend(extra.as_array().unwrap().iter().cloned());
        }
        *wanted = shared;
    }
    member
}

/// The manifests that stand alone say the same as those of the workspace.
#[test]
fn the_sdk_of_a_new_project_has_the_dependencies_of_the_workspace() {
    let story = Story::new();
    story.quietly(&["plugin", "new", "mine"]);
    let mut sdk = stand_alone("crates/plugin-sdk");
    let macros = sdk["dependencies"]["switchboard-plugin-macros"].as_table_mut().unwrap();
    macros.insert("path".to_owned(), "macros".into());
    assert_eq!(manifest(&story.path("mine/sdk/Cargo.toml")), sdk);
    let macros = stand_alone("crates/plugin-macros");
    assert_eq!(manifest(&story.path("mine/sdk/macros/Cargo.toml")), macros);
}
