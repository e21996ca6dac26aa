//! A server with a tool for each fault. After a fault, the other tools still work.
//!
//! Used by the fault tests of `core` and `gateway`.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a program for tests")]

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_testkit::lines::{Called, Said, say, serve, text};

/// Bytes of standard error that are still to be written.
static NOISE: AtomicUsize = AtomicUsize::new(0);
static QUIET: AtomicBool = AtomicBool::new(true);

fn main() {
    if std::env::args().nth(1).as_deref() == Some("doomed") {
        eprintln!("there is no configuration here");
        std::process::exit(3);
    }
    let names = [
        "echo",
        "hang",
        "die",
        "noise",
        "quiet",
        "progress",
        "garbage",
        "garbled",
        "big",
        "cancelled",
    ];
    let tool = |name: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    let tools = format!("[{}]", names.map(tool).join(","));
    let cancelled = AtomicUsize::new(0);
    let call = |call: &Called| match call.name.as_str() {
        "echo" => text(call.arguments.as_str()),
        "hang" => Said::Nothing,
        "die" => die(),
        "noise" => noise(call.number("bytes")),
        "quiet" => text(if QUIET.load(Ordering::SeqCst) { "yes" } else { "no" }),
        "progress" => progress(call),
        "garbage" => garbage(call),
        "garbled" => garbled(call),
        "big" => big(call),
        "cancelled" => text(&cancelled.load(Ordering::SeqCst).to_string()),
        _ => Said::Result(r#"{"content":[],"isError":true}"#.to_owned()),
    };
    serve(&tools, call, |method| {
        if method == "notifications/cancelled" {
            cancelled.fetch_add(1, Ordering::SeqCst);
        }
    });
}

fn die() -> ! {
    eprintln!("first line\nthe roof is on fire");
    std::process::exit(7);
}

/// Floods standard error from its own thread.
fn noise(bytes: usize) -> Said {
    NOISE.store(bytes, Ordering::SeqCst);
    QUIET.store(false, Ordering::SeqCst);
    std::thread::spawn(|| {
        let line = [&[b'x'; 1023][..], b"\n"].concat().repeat(64);
        while NOISE.load(Ordering::SeqCst) > 0 {
            std::io::stderr().write_all(&line).unwrap();
            let _ = NOISE.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                Some(left.saturating_sub(line.len()))
            });
        }
        QUIET.store(true, Ordering::SeqCst);
    });
    text("it begins")
}

/// Sends a flood of progress, then the answer.
fn progress(call: &Called) -> Said {
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    for step in 0..call.number("count") {
        let token = &call.token;
        let params = format!(r#"{{"progressToken":{token},"progress":{step}}}"#);
        writeln!(out, r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)
            .unwrap();
    }
    out.flush().unwrap();
    text("flooded")
}

/// Sends every kind of garbage, then the answer in two halves.
fn garbage(call: &Called) -> Said {
    let id = &call.id;
    for line in [
        "Listening on port 3000",
        "",
        "{",
        r#"{"jsonrpc":"2.0","id":"#,
        "\u{1b}[31mwarning\u{1b}[0m\0",
        "[1,2,3]",
        "null",
        r#"{"jsonrpc":"2.0","id":987654321,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"no such call","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/nobody/knows"}"#,
        r#"{"jsonrpc":"2.0","id":987654321,"id":987654321,"result":{},"result":{}}"#,
    ] {
        say(line);
    }
    std::io::stdout().lock().write_all(b"\xff\xfe\x00 no text at all\n").unwrap();
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"good"}}]}}}}"#
    );
    let (first, second) = answer.split_at(answer.len() / 2);
    std::io::stdout().lock().write_all(first.as_bytes()).unwrap();
    std::io::stdout().lock().flush().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    say(second);
    Said::Nothing
}

/// Sends an answer with two results.
fn garbled(call: &Called) -> Said {
    let id = &call.id;
    say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"result":{{"x":1}}}}"#));
    Said::Nothing
}

/// Sends a result of this many bytes, which is never whole in memory.
fn big(call: &Called) -> Said {
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let id = &call.id;
    write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#)
        .unwrap();
    let piece = vec![b'x'; 1 << 16];
    let mut left = call.number("bytes");
    while left > 0 {
        let next = left.min(piece.len());
        out.write_all(&piece[..next]).unwrap();
        left -= next;
    }
    out.write_all(b"\"}]}}\n").unwrap();
    out.flush().unwrap();
    Said::Nothing
}
