//! The server of the official conformance suite, on standard streams: `--era legacy|modern|both`.
//!
//! Used by `cargo xtask conformance`, which starts it behind the gateway. It does not hold the tools that the suite
//! expects: those are in `testkit::conformance`.

#![allow(clippy::print_stderr, reason = "a program for tests")]

use std::process::ExitCode;
use std::sync::Arc;

use switchboard_testkit::conformance::Subject;
use switchboard_testkit::older::{legacy_only, modern_only};
use switchboard_wire::link::LinkFrame;
use switchboard_wire::link::pair::{LinkEnd, link_pair};
use switchboard_wire::link::{LinkReader, LinkWriter};
use switchboard_wire::server::{ServeOptions, serve, stdio};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let near = match args[..] {
        [] | ["--era", "both"] => subject(),
        ["--era", "legacy"] => legacy_only(subject()),
        ["--era", "modern"] => modern_only(subject()),
        _ => {
            eprintln!("usage: conformance-server [--era legacy|modern|both]");
            return ExitCode::FAILURE;
        }
    };
    let (writer, reader, writing) = stdio::stdio_link(64 << 20);
    tokio::join!(relay(reader, near.0), relay(near.1, writer), writing);
    ExitCode::SUCCESS
}

/// The near end of a link to the server.
fn subject() -> LinkEnd {
    let (near, far) = link_pair();
    let subject = Arc::new(Subject::default());
    let changes = subject.changes().clone();
    tokio::spawn(async move {
        // The session ends with its link.
        let _ = serve(far, subject, &changes, ServeOptions::default()).await;
    });
    near
}

async fn relay(mut from: LinkReader, to: LinkWriter) {
    while let Ok(Some(frame)) = from.next().await {
        let LinkFrame::Text(text) = frame else { continue };
        if to.send(text).await.is_err() {
            return;
        }
    }
}
