//! Tests of sealed handles, and of the key they are sealed with.

mod contract;
mod key;

use std::time::Duration;

use switchboard_core::sealing::{HandleBinding, HandleKind, HandleSealer, JsonDigest};
use switchboard_wire::json::Raw;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn bound() -> HandleBinding<'static> {
    HandleBinding {
        kind: HandleKind::Again,
        place: "workspace /mcp",
        principal: "me",
        method: "tools/call",
        name: "one__ask",
        arguments: digest(r#"{"n":1}"#),
    }
}

fn digest(text: &str) -> JsonDigest {
    JsonDigest::from_json(&Raw::parse(text.to_owned()).unwrap())
}

/// A handle that holds `text`.
fn sealed(seal: &dyn HandleSealer, text: &str) -> String {
    seal.seal(&bound(), text.as_bytes(), HOUR).unwrap()
}
