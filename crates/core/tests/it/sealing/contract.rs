//! Test of the contract that every `HandleSealer` must keep.

use std::time::Duration;

use switchboard_core::sealing::{
    HandleBinding, HandleKind, HandleRefusal, HandleSealer, JsonDigest, LocalSealer,
};

use super::{bound, digest, sealed};

/// Runs on a paused clock: whatever seals has to go by it.
async fn contract(seal: &dyn HandleSealer) {
    opens_for_what_it_was_given_for(seal);
    is_refused_for_anything_else(seal);
    is_refused_when_changed(seal);
    says_nothing_and_never_the_same(seal);
    expires(seal).await;
}

#[tokio::test(start_paused = true)]
async fn a_sealer_keeps_to_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    contract(&LocalSealer::ephemeral()).await;
    let (sealer, problems) = LocalSealer::open(folder.path());
    assert_eq!(problems, []);
    contract(&sealer).await;
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
