//! Test of a plugin that misbehaves at random, beside one that works.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use switchboard_plugin::{PluginHostOptions, PluginRunOptions, PluginTimeouts};

use crate::{
    client::Client,
    source::{Folder, host_with, options},
};

const CALLS: usize = 10_000;
const CLIENTS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_answered_and_the_neighbour_is_not_disturbed() {
    let folder = Folder::new();
    folder.compile("chaos", &["NAME=\"chaos\"", "TOOL=\"chaos\""]);
    folder.compile("well", &["NAME=\"well\"", "TOOL=\"well\"", "VERSION=\"well\""]);
    let times = PluginTimeouts {
        rest: Duration::from_millis(1),
        longest_rest: Duration::from_millis(20),
        ..options().times
    };
    let terms = PluginRunOptions {
        call: Duration::from_millis(300),
        pool: 4,
        ..PluginRunOptions::default()
    };
    let plugins =
        Arc::new(host_with(&folder, PluginHostOptions { times, terms, ..options() }).await);
    assert_eq!(plugins.problems(), []);
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let mut client = Client::greeted(&plugins).await;
        clients.push(tokio::spawn(async move {
            let (mut answered, mut failed) = (0, 0);
            for call in 0..CALLS / CLIENTS {
                let answer =
                    client.call("chaos", json!({ "how": how(number * CALLS + call) })).await;
                if answer == "1.0" {
                    answered += 1;
                } else {
                    assert!(answer.starts_with("error: "), "{answer}");
                    assert!(answer.len() > "error: plugin `chaos`: ".len(), "{answer}");
                    failed += 1;
                }
            }
            (answered, failed)
        }));
    }
    let mut neighbour = Client::greeted(&plugins).await;
    let mut slowest = Duration::ZERO;
    while clients.iter().any(|client| !client.is_finished()) {
        let begun = Instant::now();
        assert_eq!(neighbour.call("well", json!({})).await, "well");
        slowest = slowest.max(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (mut answered, mut failed) = (0, 0);
    for client in clients {
        let (a, f) = client.await.unwrap();
        (answered, failed) = (answered + a, failed + f);
    }
    assert_eq!(answered + failed, CALLS);
    assert!(answered > CALLS / 2 && failed > 20, "{answered} answered, {failed} failed");
    assert!(slowest < Duration::from_secs(2), "the neighbour took {slowest:?}");
}

/// The behaviour of a call: mostly correct. Deterministic, and in no order.
fn how(number: usize) -> &'static str {
    match number.wrapping_mul(2_654_435_761) % 1009 {
        0 | 1 => "crash",
        2 => "throw",
        3 => "abort",
        4 => "corrupt",
        5 => "exit",
        6..=8 => "garbage",
        9..=11 => "null",
        12 if number.is_multiple_of(7) => "hang",
        _ => "",
    }
}
