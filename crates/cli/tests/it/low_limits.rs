//! Tests of low system limits: an error that names the limit, or the requested result; never a panic or the built-in
//! demo.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

use serde_json::json;
use switchboard_testkit::programs::program;

use crate::Home;

/// A home with one server, for any user.
fn home() -> Home {
    let home = Home::new();
    let settings = home.path().join(".config/switchboard/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let servers = json!({ "kiosk": { "command": program("kiosk") } });
    // A hub ends soon after its client.
    let text = json!({ "mcpServers": servers, "limits": { "hubIdleMs": 100 } });
    std::fs::write(settings, text.to_string()).unwrap();
    home
}

/// Runs the program after `prepare`, a line of a shell.
fn run(home: &Home, prepare: &str, args: &[&str], input: &str) -> Output {
    let usual = home.command(args);
    let mut command = Command::new("sh");
    let script = format!(r#"{prepare}; printf '%s\n' "$INPUT" | exec "$0" "$@""#);
    command.args(["-c", &script]).arg(usual.get_program()).args(args).env_clear();
    command.env("HOME", home.path()).env("PATH", "/usr/bin:/bin").env("INPUT", input);
    command.current_dir(home.path()).output().unwrap()
}

fn said(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    texts.join("\n")
}

#[test]
fn few_descriptors_are_an_error_and_never_the_demo() {
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let greeting = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting });
    let input = format!("{greeting}\n{list}");
    for limit in [6, 10, 14, 18, 20, 24, 28, 31, 64] {
        for args in [&["connect"][..], &["connect", "--standalone"], &["tools"]] {
            let home = home();
            let output = run(&home, &format!("ulimit -n {limit}"), args, &input);
            let said = said(&output);
            home.command(&["stop"]).output().unwrap();
            assert!(!said.contains("builtin") && !said.contains("panicked"), "{limit}: {said}");
            let has_server = said.contains("kiosk");
            let is_error = said.contains("error: ");
            assert!(has_server || is_error, "{args:?} with {limit}: {said}");
            if limit == 6 {
                assert!(said.contains("may open 6 files"), "{args:?}: {said}");
            }
            if limit == 20 && args[0] == "connect" {
                assert!(said.contains("may open 20 files"), "{args:?}: {said}");
                assert!(said.contains("ulimit -n"), "{args:?}: {said}");
            }
            assert!(limit < 64 || has_server, "{args:?} with {limit}: {said}");
        }
    }
}

#[test]
fn few_processes_are_an_error() {
    let home = home();
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(home.path(), everybody).unwrap();
    // Root has no such limit, so it becomes a user that nobody else is.
    let user = 64_000 + std::process::id() % 1_000;
    for limit in 1..10 {
        for args in [&["connect"][..], &["connect", "--standalone"], &["list"], &["call", "erase"]]
        {
            let usual = home.command(args);
            let mut command = Command::new("env");
            if nix::unistd::geteuid().is_root() {
                let user = user.to_string();
                command = Command::new("setpriv");
                command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
            }
            command.args(["prlimit", &format!("--nproc={limit}")]);
            command.arg(usual.get_program()).args(args).env_clear();
            command.env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
            command.current_dir(home.path()).stdin(Stdio::null());
            let output = command.output().unwrap();
            let said = said(&output);
            assert!(!said.contains("panicked"), "{args:?} with {limit}: {said}");
            assert_ne!(output.status.code(), Some(101), "{args:?} with {limit}: {said}");
            if limit == 1 {
                assert!(said.contains("cannot start a thread"), "{args:?}: {said}");
                assert!(said.contains("`ulimit -u` (now 1)"), "{args:?}: {said}");
            }
        }
    }
}
