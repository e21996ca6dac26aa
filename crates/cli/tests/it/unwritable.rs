//! Tests of a home that cannot be written: `connect` and `serve` work, and warn about what is not stored.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use switchboard_testkit::programs::program;

use crate::attached::greeted;
use crate::gateway::{Client, until};

/// What is wrong with the home, as commands that make it so; they run in a namespace of their own.
const READ_ONLY: &str = r#"mount --bind "$HOME" "$HOME" && mount -o remount,ro,bind "$HOME""#;
const FULL: &str = r#"mkdir -p "$HOME/.local/state" && mount -t tmpfs -o size=8k tmpfs "$HOME/.local/state" &&
    mkdir "$HOME/.local/state/switchboard" && { head -c 99999 /dev/zero > "$HOME/.local/state/fill" || true; }"#;
const FILE_IN_PLACE: &str = r#"mkdir -p "$HOME/.local" && touch "$HOME/.local/state""#;

/// Gives a program a `/tmp` of its own, since hubs have their sockets there. A checkout below `/tmp` stays where it is.
const OWN_TMP: &str = r#"case "$TARGET" in
    /tmp/*) mount --rbind /tmp /mnt && mount -t tmpfs tmpfs /tmp && mkdir -p "$TARGET" &&
        mount --rbind "/mnt/${TARGET#/tmp/}" "$TARGET";;
    *) mount -t tmpfs tmpfs /tmp;;
esac"#;

/// A home with one server, and a place for what programs in it say.
struct Scene {
    home: tempfile::TempDir,
    said: tempfile::TempDir,
    spoiled: &'static str,
}

impl Scene {
    fn new(spoiled: &'static str) -> Self {
        // In the target folder: each program here has a `/tmp` of its own.
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let said = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let settings = home.path().join(".config/switchboard/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        let kiosk = json!({ "kiosk": { "command": program("kiosk") } });
        // The hub ends soon after its client.
        let text = json!({ "mcpServers": kiosk, "limits": { "hubIdleMs": 100 } });
        std::fs::write(settings, text.to_string()).unwrap();
        Self { home, said, spoiled }
    }

    fn said(&self) -> PathBuf {
        self.said.path().join("stderr")
    }

    fn command(&self, args: &[&str]) -> Command {
        let script = format!(r#"{OWN_TMP} && {} && exec "$0" "$@" 2>"$SAID""#, self.spoiled);
        let mut command = Command::new("unshare");
        command
            .args(["-rm", "sh", "-c", &script, env!("CARGO_BIN_EXE_switchboard")])
            .args(args)
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .env("SAID", self.said())
            .env("TARGET", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap())
            .current_dir(self.home.path())
            .stdin(Stdio::null());
        command
    }

    /// Has a person told what the program does without?
    fn check_warned(&self, args: &[&str]) {
        let said = said(self);
        let state = self.home.path().join(".local/state/switchboard");
        let warned = format!("warning: nothing can be written to {}", state.display());
        assert!(said.contains(&warned) && said.contains("hint: make room"), "{args:?}: {said}");
    }
}

#[test]
fn a_client_is_served_without_state() {
    for spoiled in [READ_ONLY, FULL, FILE_IN_PLACE] {
        for args in [&["connect"][..], &["connect", "--standalone"]] {
            let scene = Scene::new(spoiled);
            let mut client = Client::spawn(scene.command(args));
            let called = client.call("kiosk__erase").unwrap();
            assert_eq!(called["content"][0]["text"], "erased", "{args:?}");
            client.leave();
            scene.check_warned(args);
        }
    }
}

#[test]
fn the_network_is_served_without_state() {
    for spoiled in [READ_ONLY, FULL, FILE_IN_PLACE] {
        let scene = Scene::new(spoiled);
        let args = ["serve", "--listen", "127.0.0.1:0"];
        let mut serving = scene.command(&args).spawn().unwrap();
        let is_ready = || said(&scene).contains("Ctrl-C ends it");
        until("it is not served", is_ready);
        let said = said(&scene);
        let address = said.split("Serving at http://").nth(1).unwrap();
        let address = address.split('/').next().unwrap();
        assert!(greeted(address).unwrap().contains("200"));
        assert!(said.contains("warning: the console is not served"), "{said}");
        assert!(!said.contains("Console: "), "{said}");
        kill(Pid::from_raw(i32::try_from(serving.id()).unwrap()), Signal::SIGINT).unwrap();
        assert!(serving.wait().unwrap().success());
        scene.check_warned(&args);
    }
}

/// `doctor` gives the warning too, where the folder of state is there already.
#[test]
fn a_doctor_sees_that_nothing_can_be_kept() {
    let scene = Scene::new(READ_ONLY);
    std::fs::create_dir_all(scene.home.path().join(".local/state/switchboard")).unwrap();
    let output = scene.command(&["doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&scene));
    scene.check_warned(&["doctor"]);
}

/// The same for machines.
#[test]
fn a_machine_is_told_what_is_not_kept() {
    let scene = Scene::new(READ_ONLY);
    let mut command = scene.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut serving = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(serving.stdout.take().unwrap()).lines().map(Result::unwrap);
    let ready: Value = serde_json::from_str(&said.next().unwrap()).unwrap();
    assert_eq!(ready["console"], Value::Null, "{ready}");
    let problems = ready["problems"].as_array().unwrap();
    let told = |text: &str| {
        problems.iter().any(|problem| problem["message"].as_str().unwrap().contains(text))
    };
    assert!(told("nothing can be written to") && told("the console is not served"), "{ready}");
    kill(Pid::from_raw(i32::try_from(serving.id()).unwrap()), Signal::SIGINT).unwrap();
    assert!(serving.wait().unwrap().success());
}

fn said(scene: &Scene) -> String {
    std::fs::read_to_string(scene.said()).unwrap_or_default()
}
