//! Servers on standard streams that break the protocol, byte by byte.
//!
//! Used by the regression tests of `wire`.

#![allow(clippy::unwrap_used, reason = "a program for tests")]

use std::fmt::Write as _;
use std::io::{BufRead as _, Write as _};
use std::time::Duration;

fn main() {
    let mut args = std::env::args().skip(1);
    let part = args.next().unwrap();
    let mut number = || args.next().unwrap().parse::<usize>().unwrap();
    match part.as_str() {
        "dies-on-probe" => legacy(|line| assert!(!line.contains("server/discover"))),
        "cold" => {
            std::thread::sleep(Duration::from_millis(number() as u64));
            legacy(|_| {});
        }
        "progress" => progress(number()),
        "oversized" => oversized(number()),
        "noisy" => {
            let chunk = [b'x'; 8192];
            for _ in 0..number() / chunk.len() {
                std::io::stderr().write_all(&chunk).unwrap();
            }
            legacy(|_| {});
        }
        "deaf" => deaf(),
        other => panic!("no part is called {other}"),
    }
}

/// A careless legacy server: it answers `initialize` and `tools/call`; `first` sees every line.
fn legacy(first: impl Fn(&str)) {
    each_line(|line| {
        first(line);
        answer(line, r#"{"content":[]}"#);
    });
}

/// Floods each call that wants progress with `count` notifications.
fn progress(count: usize) {
    each_line(|line| {
        if let Some(token) = after(line, r#""progressToken":"#) {
            let mut out = String::new();
            for step in 0..count {
                let _ = writeln!(
                    out,
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
                );
            }
            say_raw(&out);
        }
        answer(line, r#"{"content":[]}"#);
    });
}

/// Answers the tool `big` with a result of `bytes` bytes.
fn oversized(bytes: usize) {
    each_line(|line| {
        if line.contains(r#""name":"big""#) {
            return answer(line, &format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes)));
        }
        answer(line, r#"{"content":[]}"#);
    });
}

/// Completes the handshake, then never reads again.
fn deaf() {
    each_line(|line| {
        answer(line, r#"{"content":[]}"#);
        if line.contains("notifications/initialized") {
            loop {
                std::thread::park();
            }
        }
    });
}

fn each_line(mut take: impl FnMut(&str)) {
    for line in std::io::stdin().lock().lines() {
        take(&line.unwrap());
    }
}

fn answer(line: &str, result: &str) {
    let Some(id) = after(line, r#""id":"#) else {
        return;
    };
    let body = if line.contains(r#""method":"initialize""#) {
        r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"puppet","version":"1"}}"#.to_owned()
    } else if line.contains(r#""method":"tools/"#) {
        format!(r#""result":{result}"#)
    } else {
        r#""error":{"code":-32601,"message":"unknown"}"#.to_owned()
    };
    // The id comes last, where it is hardest to find.
    say_raw(&format!("{{\"jsonrpc\":\"2.0\",{body},\"id\":{id}}}\n"));
}

/// The number after `key`.
fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = &line[line.find(key)? + key.len()..];
    Some(rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(rest))
}

fn say_raw(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).unwrap();
    out.flush().unwrap();
}
