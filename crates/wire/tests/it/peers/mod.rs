//! Tests against real servers and SDKs, which `cargo xtask peers` installs. Each is connected to,
//! listed, called, and must leave no process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod check;
mod everything;
mod lessons;
mod modern;
mod others;
mod place;
mod server;
mod skills;

use std::time::Duration;

use switchboard_wire::json::Raw;

/// The time after which a test has failed.
const BOUND: Duration = Duration::from_mins(2);

/// Runs a test in its own runtime, for a bounded time.
fn bounded(test: impl Future<Output = ()>) {
    // Built before the clock starts.
    switchboard_testkit::guard_path();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(BOUND, test).await });
    ended.expect("the test hangs");
}

fn raw(text: impl Into<String>) -> Raw {
    Raw::parse(text.into()).unwrap()
}

/// The text of a member.
fn text(raw: &Raw, key: &str) -> String {
    let member = raw.get(key).unwrap();
    member.and_then(|member| member.to_text()).unwrap_or_default()
}
