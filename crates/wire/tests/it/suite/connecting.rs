//! Tests of handshakes: the negotiated version, and the facts that each side then knows.

use switchboard_wire::{
    Error, Version,
    client::{EraCache, VersionNegotiation},
};

use super::{Bench, Transport, connect, options, over_all_five};

over_all_five!(the_version_asked_for_is_spoken, the_server_is_known, what_was_learnt_is_remembered,);

async fn the_version_asked_for_is_spoken(bench: Bench) {
    let expected = match (bench.greeting, bench.transport) {
        (VersionNegotiation::Only(version), _) => version,
        // HTTP+SSE is older than the modern era and never carries it.
        (VersionNegotiation::Probe, Transport::Sse) => Version::LATEST_LEGACY,
        (VersionNegotiation::Probe, _) => Version::LATEST,
    };
    assert_eq!(bench.client.server_facts().version, expected);
}

async fn the_server_is_known(bench: Bench) {
    let server = bench.client.server_facts();
    assert_eq!(server.name().as_deref(), Some("fixture"));
    assert_eq!(server.server_version().as_deref(), Some("1"));
    assert_eq!(server.instructions.as_deref(), Some("be kind"));
    assert!(server.has_capability(&["resources", "subscribe"]));
    assert!(!server.has_capability(&["tasks"]));
    let info = server.info.clone().unwrap();
    assert_eq!(info.get("odd").unwrap().unwrap().as_str(), "1.0");
}

/// A second connection greets with the era of the first, and learns equal facts.
async fn what_was_learnt_is_remembered(bench: Bench) {
    let eras = std::sync::Arc::new(EraCache::default());
    let mut options = options(bench.greeting);
    options.eras = Some(eras.clone());
    let first = connect(bench.transport, options).await.unwrap();
    let version = first.client.server_facts().version;
    let entries = eras.entries();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].1.version, version);
}

/// A modern client with a transport of legacy servers only.
#[tokio::test]
async fn a_version_that_the_server_lacks_is_refused() {
    let legacy_only = super::super::session::answering(|method| {
        (method == "initialize").then(|| super::super::session::initialized("2025-11-25"))
    });
    let connected = legacy_only.connect(options(VersionNegotiation::Only(Version::LATEST))).await;
    assert!(matches!(connected, Err(Error::NoCommonVersion { .. })));
}
