//! The contract that every `HandleSealer` must keep.
//!
//! Used by the tests of this crate for the sealer of one machine, and by those of the program for the cluster's.

use std::time::Duration;

use switchboard_core::sealing::{
    HandleBinding, HandleKind, HandleRefusal, HandleSealer, JsonDigest, LocalSealer,
};
use switchboard_wire::json::Raw;

const HOUR: Duration = Duration::from_secs(60 * 60);

pub(super) fn bound() -> HandleBinding<'static> {
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
pub(super) fn sealed(seal: &dyn HandleSealer, text: &str) -> String {
    seal.seal(&bound(), text.as_bytes(), HOUR).unwrap()
}

/// Runs on a paused clock: whatever seals has to go by it.
pub(super) async fn check(seal: &dyn HandleSealer) {
    opens_for_what_it_was_given_for(seal);
    is_refused_for_anything_else(seal);
    is_refused_when_changed(seal);
    says_nothing_and_never_the_same(seal);
    expires(seal).await;
}

fn opens_for_what_it_was_given_for(seal: &dyn HandleSealer) {
    for text in ["", "x", &"long".repeat(100_000)] {
        let handle = sealed(seal, text);
        assert_eq!(seal.open(&bound(), &handle).unwrap(), text.as_bytes());
        // As often as it comes: who gave it out knows whether it may.
        assert_eq!(seal.open(&bound(), &handle).unwrap(), text.as_bytes());
        assert_eq!(HandleKind::from_handle(&handle), Some(HandleKind::Again));
        assert!(handle.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
    }
}

fn is_refused_for_anything_else(seal: &dyn HandleSealer) {
    let handle = sealed(seal, "x");
    let others: [(&str, HandleBinding<'_>); 9] = [
        ("kind", HandleBinding { kind: HandleKind::Parked, ..bound() }),
        ("task", HandleBinding { kind: HandleKind::Task, ..bound() }),
        ("place", HandleBinding { place: "workspace /mcp/one", ..bound() }),
        ("principal", HandleBinding { principal: "you", ..bound() }),
        ("method", HandleBinding { method: "prompts/get", ..bound() }),
        ("name", HandleBinding { name: "two__ask", ..bound() }),
        ("arguments", HandleBinding { arguments: digest(r#"{"n":2}"#), ..bound() }),
        ("no arguments", HandleBinding { arguments: JsonDigest::default(), ..bound() }),
        // The same letters, cut at another place.
        ("shifted", HandleBinding { method: "tools/callone", name: "__ask", ..bound() }),
    ];
    for (what, other) in others {
        assert_eq!(seal.open(&other, &handle), Err(HandleRefusal::Foreign), "{what}");
    }
    let another = LocalSealer::ephemeral();
    assert_eq!(another.open(&bound(), &handle), Err(HandleRefusal::Foreign), "another key");
}

fn is_refused_when_changed(seal: &dyn HandleSealer) {
    let handle = sealed(seal, "payload");
    let letters: Vec<char> = handle.chars().collect();
    for at in 0..letters.len() {
        for other in ['A', '_', '!', '='] {
            let mut changed = letters.clone();
            changed[at] = other;
            let changed: String = changed.into_iter().collect();
            let refused = changed == handle || seal.open(&bound(), &changed).is_err();
            assert!(refused, "letter {at} as {other}");
        }
        let cut: String = letters[..at].iter().collect();
        assert_eq!(seal.open(&bound(), &cut), Err(HandleRefusal::Foreign), "cut at {at}");
    }
    for other in [format!("{handle}A"), format!(" {handle}"), String::new(), "state".to_owned()] {
        assert_eq!(seal.open(&bound(), &other), Err(HandleRefusal::Foreign), "{other}");
    }
}

fn says_nothing_and_never_the_same(seal: &dyn HandleSealer) {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let (one, other) = (sealed(seal, "secret"), sealed(seal, "secret"));
    assert_ne!(one, other);
    let bytes = URL_SAFE_NO_PAD.decode(&one).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
    assert!(!bytes.windows(2).any(|window| window == b"me"));
}

async fn expires(seal: &dyn HandleSealer) {
    let handle = sealed(seal, "x");
    let for_ever = seal.seal(&bound(), b"x", Duration::MAX).unwrap();
    tokio::time::advance(Duration::from_secs(59 * 60)).await;
    assert!(seal.open(&bound(), &handle).is_ok());
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(seal.open(&bound(), &handle), Err(HandleRefusal::Expired));
    assert!(seal.open(&bound(), &for_ever).is_ok());
}
