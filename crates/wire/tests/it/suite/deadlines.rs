//! Tests of timeouts, which progress extends, and of time limits, which it does not.

use std::time::Duration;

use switchboard_wire::{Error, client::CallRequest};

use super::{Bench, over_all_five, raw};

over_all_five!(
    a_call_that_hangs_ends_at_its_deadline,
    progress_extends_a_deadline,
    unless_it_must_not,
    progress_does_not_extend_a_time_limit,
);

async fn a_call_that_hangs_ends_at_its_deadline(bench: Bench) {
    let after = Duration::from_millis(150);
    let call = CallRequest::call_tool("hang", &raw("{}")).with_timeout(after);
    let error = bench.client.call(call).result().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { after: waited, .. } if waited == after), "{error:?}");
    // The server got the cancellation, or never got the call, and still serves.
    bench.tool("echo", "{}").await;
}

/// Far apart, so that a busy machine does not decide the outcome.
const DEADLINE: Duration = Duration::from_millis(1500);
const TICKS: &str = r#"{"every":180,"times":10}"#;

async fn progress_extends_a_deadline(bench: Bench) {
    bench.tool("echo", "{}").await;
    let call = CallRequest::call_tool("tick", &raw(TICKS)).with_progress().with_timeout(DEADLINE);
    bench.client.call(call).result().await.unwrap();
}

async fn unless_it_must_not(bench: Bench) {
    bench.tool("echo", "{}").await;
    let call = CallRequest::call_tool("tick", &raw(TICKS)).with_progress();
    let call = call.with_timeout(DEADLINE).with_fixed_timeout();
    let error = bench.client.call(call).result().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}

async fn progress_does_not_extend_a_time_limit(bench: Bench) {
    bench.tool("echo", "{}").await;
    let call = CallRequest::call_tool("tick", &raw(TICKS)).with_progress();
    let call = call.with_timeout(DEADLINE).with_time_limit(DEADLINE);
    let error = bench.client.call(call).result().await.unwrap_err();
    assert!(matches!(error, Error::TimeLimit { after, .. } if after == DEADLINE), "{error:?}");
    bench.tool("echo", "{}").await;
}
