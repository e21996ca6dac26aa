//! Tests of `switchboard probe`.

use std::os::unix::process::ExitStatusExt;

use crate::Home;

/// Runs each command line in a home of its own and compares everything shown with the snapshot.
fn check(name: &str, lines: &[&[&str]]) {
    let transcript: String = lines
        .iter()
        .map(|args| format!("$ switchboard {}\n{}\n", args.join(" "), Home::new().run(args)))
        .collect();
    insta::assert_snapshot!(name, transcript);
}

#[test]
fn the_built_in_server() {
    check(
        "built_in",
        &[
            &["probe"],
            &["probe", "--call", "greet", "--arguments", r#"{"name":"Ada"}"#],
            &["probe", "--call", "greet", "--protocol", "2024-11-05"],
        ],
    );
}

#[test]
fn for_machines() {
    check(
        "json",
        &[
            &["--json", "probe", "--call", "echo", "--arguments", r#"{"text":"hi"}"#],
            &["probe", "--json", "no-such-command"],
        ],
    );
}

#[test]
fn mistakes_are_explained() {
    check(
        "mistakes",
        &[
            &["probe", "--call", "echo", "--arguments", "{}"],
            &["probe", "--call", "nosuch"],
            &["probe", "--call", "echo", "--arguments", "{'a':1}"],
            &["probe", "--protocol", "2023-01-01"],
            &["probe", "--timeout", "0"],
            &["probe", "-H", "a: b", "cat"],
            &["probe", "-H", "secret", "http://127.0.0.1:1/"],
            &["probe", "-e", "NOT_SET", "cat"],
            &["probe", "ftp://127.0.0.1/"],
            &["probe", "http://127.0.0.1:1/", "more"],
            &["probe", "http://127.0.0.1:1/mcp", "-H", "a: b"],
            &["nonsense"],
        ],
    );
}

#[test]
fn a_server_that_cannot_be_reached_says_why() {
    check(
        "unreachable",
        &[
            &["probe", "no-such-command"],
            &["probe", "/"],
            &["probe", "/etc/passwd"],
            &["probe", "sh", "-c", "echo one >&2; printf '\\033[31mtwo' >&2; exit 3"],
            &["probe", "--timeout", "0.3", "sleep", "60"],
            &["probe", "http://127.0.0.1:1/mcp"],
        ],
    );
}

/// A server that says what it likes does nothing to the terminal, and reads nothing of ours.
#[test]
fn a_hostile_server_is_shown_as_text() {
    let script = r#"
read line
printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}\n'
read line
printf '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"\\u001b[31mevil\\u202e","version":"%s"},"instructions":"a\\u001b[2Jb\\nc"}}\n' "${SECRET:-kept out}"
read line
read line
printf '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"t\\u0007","description":"d\\u200b\\nsecond line"},5,{"name":7}]}}\n'
read line
"#;
    let home = Home::new();
    let mut command = home.command(&["probe", "sh", "-c", script]);
    let output = command.env("SECRET", "sk-1").output().unwrap();
    insta::assert_snapshot!("hostile", home.shown(&output));
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let home = Home::new();
    let marker = home.path().join("started");
    let script = format!("touch {}; sleep 300", marker.display());
    let mut child = home.command(&["probe", "sh", "-c", &script]).spawn().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !marker.exists() {
        assert!(std::time::Instant::now() < deadline, "the server did not start");
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    let killed = std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(130), None));
    let mark = marker.display().to_string();
    while processes_naming(&mark) > 0 {
        assert!(std::time::Instant::now() < deadline, "the server is still there");
        std::thread::yield_now();
    }
}

pub(crate) fn processes_naming(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(text))
        .count()
}
