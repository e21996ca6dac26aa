//! What the plugin itself takes, called in this process with nobody in between.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_plugin_hello as hello;
use switchboard_plugin_sdk::Context;

pub(crate) fn calls(rounds: u32) -> Duration {
    let (plugin, alone) = (hello::plugin(), Context::for_tests());
    let params = json!({ "name": "echo", "arguments": { "text": "hi" } });
    let begun = Instant::now();
    for _ in 0..rounds {
        plugin.handle("tools/call", params.clone(), &alone).unwrap();
    }
    begun.elapsed()
}
