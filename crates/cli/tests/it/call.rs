//! Tests of `switchboard call`.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use switchboard_testkit::http::{Reply, Scripted};

use crate::Story;
use crate::tools::kiosk;

#[test]
fn every_way_to_write_it() {
    let mut story = kiosk();
    story.write("order.json", r#"{"what": "pens"}"#);
    for args in [
        &["kiosk/say", "text=two words"][..],
        &["mcp__kiosk__say", r#"{"text": "{}"}"#],
        &["say", r#"text:="\u00e9""#],
        &["order", "what=pens", "count=3", "gift=true", "names=a,b", "to.city=Rome"],
        &["order", "what=paper", "names:=[]", r#"to:={"city": "Oslo"}"#],
        &["order", "@order.json"],
        &["order", "@order.json", "--json"],
        &["--json", "erase"],
    ] {
        story.run(&[&["call"], args].concat());
    }
    let mut typed = story.command(&["call", "say", "-"]);
    let mut child =
        typed.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"text": "typed"}"#).unwrap();
    let shown = story.home.shown(&child.wait_with_output().unwrap());
    story.tell(&["call", "say", "-"], &shown);
    insta::assert_snapshot!("call", story.transcript());
}

/// A server that never answers is not waited for where the name says that it is of another.
#[test]
fn a_name_of_a_server_that_is_not_configured_fails_at_once() {
    let story = Story::new();
    story.quietly(&["add", "hung", "--", "sleep", "300"]);
    for name in ["nope/x", "mcp__nope__x"] {
        let began = Instant::now();
        let output = story.quietly(&["call", name]);
        assert!(!output.status.success(), "{name}");
        assert!(began.elapsed() < Duration::from_secs(15), "{name}: {:?}", began.elapsed());
    }
}

#[test]
fn mistakes_are_explained() {
    let mut story = kiosk();
    let other = switchboard_testkit::programs::program("kiosk");
    for args in [
        &["say"][..],
        &["say", "txt=hi"],
        &["say", "hi"],
        &["say", "text:=hi"],
        &["say", "{'text'}"],
        &["say", "@no-such-file"],
        &["say", r#"{"text": 1}"#],
        &["order", "what=ink", "count=0"],
        &["order", "what=pens", "count=0"],
        &["order", "what=pens", "count=many", "gift=perhaps"],
        &["kiosk/sya", "text=hi"],
        &["mcp__kiosk__sya", "text=hi"],
        &["xyzzy"],
        &["crooked"],
        &["nobody/say"],
        &["fail"],
        &["fail", "--json"],
        &["refuse"],
        &["refuse", "--json"],
        &["hang", "--timeout", "0.2"],
        &["hang", "--time-limit", "0.2"],
        &["careful"],
        &["register"],
        &["sign", "url=https://example.com/sign?a=b"],
        &["sign", "url=https://good.example@evil.example/"],
    ] {
        story.run(&[&["call"], args].concat());
    }
    story.quietly(&["add", "second", other.to_str().unwrap()]);
    story.run(&["call", "say", "text=hi"]).run(&["call", "second/say", "text=hi"]);
    insta::assert_snapshot!("call_mistakes", story.transcript());
}

#[test]
fn what_a_result_looks_like() {
    let mut story = kiosk();
    let escape = "text=\u{1b}[31mred\u{1b}[0m";
    let raw = story.quietly(&["call", "say", escape]).stdout;
    assert_eq!(raw, b"\x1b[31mred\x1b[0m\n", "another program gets the text as it is");
    let picture = story.quietly(&["call", "picture"]).stdout;
    assert!(picture.starts_with(b"\x89PNG\r\n"), "another program gets the picture itself");
    story.run(&["call", "album"]).run(&["call", "--json", "picture"]);
    story.run(&["-v", "call", "count", "to=2"]);
    story.write("../.config/switchboard/settings.json", r#"{"limits": {"imageBytes": 20}}"#);
    story.run(&["call", "picture"]);
    story.set("MAX_MCP_OUTPUT_TOKENS", "10");
    story.run(&["call", "book", "lines=20"]);
    insta::assert_snapshot!("call_results", story.transcript());
    let files: Vec<_> = std::fs::read_dir(story.path("tmp")).unwrap().flatten().collect();
    let mut sizes: Vec<_> = files.iter().map(|file| file.metadata().unwrap().len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [3, 4, 70]);
}

/// Rules that deny hold for what a person types, and hooks; rules that ask do not.
#[test]
fn rules_and_hooks() {
    let mut story = kiosk();
    story.write(
        "../.config/switchboard/settings.json",
        r#"{
  "permissions": {
    "deny": ["mcp__kiosk__erase"],
    "ask": ["mcp__kiosk__say"]
  },
  "hooks": {
    "PreToolUse": [
      {"matcher": "mcp__kiosk__order", "hooks": [
        {"type": "command", "command": "echo no orders today >&2; exit 2"}
      ]}
    ]
  }
}"#,
    );
    story
        .run(&["call", "kiosk/erase"])
        .run(&["call", "mcp__kiosk__erase", "--json"])
        .run(&["call", "say", "text=hi"])
        .run(&["call", "order", "what=pens"])
        .run(&["tools", "--search", "erase"]);
    insta::assert_snapshot!("call_rules", story.transcript());
}

#[test]
fn a_server_that_wants_credentials() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(Scripted::start(|_| async { Reply::empty(401) }));
    let mut story = Story::new();
    story.replace(&server.addr().to_string(), "127.0.0.1:PORT");
    story.quietly(&["add", "web", &server.url("/mcp")]);
    story
        .run(&["call", "web/search", "query=x"])
        .run(&["call", "mcp__web__search", "--json"])
        .run(&["reconnect", "web"]);
    insta::assert_snapshot!("call_needs_auth", story.transcript());
}

/// One server never answers; a call of another does not wait for it.
#[test]
fn a_dead_server_delays_nobody() {
    let story = kiosk();
    story.quietly(&["add", "mute", "sleep", "300"]);
    story.quietly(&["add", "gone", "no-such-command"]);
    for tool in ["kiosk/say", "mcp__kiosk__say", "say"] {
        let began = Instant::now();
        let output = story.quietly(&["call", tool, "text=hi"]);
        assert_eq!(output.stdout, b"hi\n", "{}", story.home.shown(&output));
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it waited for a server it has no use for"
        );
    }
}

/// Ctrl-C reaches the server as a cancellation, and leaves nothing behind.
#[test]
fn ctrl_c_cancels() {
    let story = kiosk();
    let program = switchboard_testkit::programs::program("kiosk");
    let seen = story.path("seen");
    // What ends it comes right after; the words before that are to be read.
    let script = format!("trap '' INT; tee {} | {}", seen.display(), program.display());
    story.quietly(&["add", "heard", "sh", "-c", &script]);
    let mut child = story.command(&["call", "heard/hang"]).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let wait_for = |text: &str| {
        while !std::fs::read_to_string(&seen).unwrap_or_default().contains(text) {
            assert!(Instant::now() < deadline, "the server never saw {text}");
            std::thread::yield_now();
        }
    };
    wait_for("tools/call");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(130), None));
    wait_for("notifications/cancelled");
    while crate::probe::processes_naming(&seen.display().to_string()) > 0 {
        assert!(Instant::now() < deadline, "the server is still there");
        std::thread::yield_now();
    }
}
