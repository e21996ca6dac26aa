//! Tests of era detection over a link.

use std::{sync::Arc, time::Duration};

use switchboard_wire::{
    Error, Version,
    client::{ClientOptions, EraCache, ServerTarget, VersionNegotiation},
};
use tokio::time::Instant;

use super::{Peer, bounded, connect_with, initialized, options};

const UNKNOWN: &str = r#"{"code":-32601,"message":"what?"}"#;

/// Plays the answer to the probe, then a handshake if one is requested. Returns the negotiated
/// version.
async fn spoken(answer: Result<&str, &str>) -> Result<Version, Error> {
    let (connected, _) = connect_with(options(VersionNegotiation::Probe), async |mut peer| {
        let probe = peer.expect("server/discover").await;
        match answer {
            Ok(result) => peer.answer(&probe, result).await,
            Err(error) => peer.refuse(&probe, error).await,
        }
        if let Some(text) = peer.text().await.filter(|text| text.contains("\"initialize\"")) {
            let id = text.split(r#""id":"#).nth(1).unwrap().split(',').next().unwrap();
            let result = initialized("2025-06-18");
            peer.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
            peer.hear("notifications/initialized").await;
        }
        peer
    })
    .await;
    connected.map(|(client, _)| client.server_facts().version)
}

#[test]
fn what_an_answer_to_the_probe_means() {
    bounded(async {
        let modern = r#"{"supportedVersions":["2027-01-01","2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#;
        let legacy_only = r#"{"supportedVersions":["2025-11-25"],"capabilities":{}}"#;
        let refused_legacy =
            r#"{"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}}"#;
        for (answer, expected) in [
            (Ok(modern), Version::V2026_07_28),
            (Ok("{}"), Version::V2025_06_18),
            (Ok(r#"{"supportedVersions":7}"#), Version::V2025_06_18),
            (Ok(legacy_only), Version::V2025_06_18),
            (Err(UNKNOWN), Version::V2025_06_18),
            (Err(r#"{"code":-32602,"message":"bad"}"#), Version::V2025_06_18),
            (Err(r#"{"code":0}"#), Version::V2025_06_18),
            (Err(r#"{"code":-32022,"message":"no"}"#), Version::V2025_06_18),
            (Err(refused_legacy), Version::V2025_06_18),
        ] {
            assert_eq!(spoken(answer).await.unwrap(), expected, "{answer:?}");
        }
    });
}

#[test]
fn a_server_that_speaks_only_what_we_do_not() {
    bounded(async {
        for answer in [
            Ok(r#"{"supportedVersions":["2031-01-01"],"capabilities":{}}"#),
            Err(r#"{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}"#),
        ] {
            let refused = spoken(answer).await;
            assert!(
                matches!(&refused, Err(Error::NoCommonVersion { offered }) if offered == &["2031-01-01"]),
                "{refused:?}"
            );
        }
    });
}

#[test]
fn a_handshake_in_a_version_we_do_not_know() {
    bounded(async {
        let (connected, _) = connect_with(options(VersionNegotiation::Probe), async |mut peer| {
            let probe = peer.request().await;
            peer.refuse(&probe, UNKNOWN).await;
            let hello = peer.expect("initialize").await;
            peer.answer(&hello, &initialized("1999-01-01")).await;
            peer
        })
        .await;
        assert!(
            matches!(&connected, Err(Error::NoCommonVersion { offered }) if offered == &["1999-01-01"]),
            "{connected:?}"
        );
    });
}

/// Some servers refuse an unknown version instead of offering a known one.
#[test]
fn a_handshake_refused_with_versions_is_made_again() {
    bounded(async {
        let (connected, _) = connect_with(options(VersionNegotiation::Probe), async |mut peer| {
        let probe = peer.request().await;
        peer.refuse(&probe, UNKNOWN).await;
        let hello = peer.expect("initialize").await;
        peer.refuse(&hello, r#"{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05"]}}"#).await;
        let hello = peer.expect("initialize").await;
        assert!(hello.text().contains(r#""protocolVersion":"2024-11-05""#));
        peer.answer(&hello, &initialized("2024-11-05")).await;
        peer
    })
    .await;
        assert_eq!(connected.unwrap().0.server_facts().version, Version::V2024_11_05);
    });
}

/// A slow peer: both greetings are answered after `pause`, in the given order.
async fn slow(
    options: ClientOptions,
    pause: Duration,
    answers: &[(&str, Result<&str, &str>)],
) -> (Result<Version, Error>, Duration) {
    let began = Instant::now();
    let (connected, _) = connect_with(options, async |mut peer: Peer| {
        let probe = peer.expect("server/discover").await;
        let hello = peer.expect("initialize").await;
        assert!(began.elapsed() >= Duration::from_secs(3));
        tokio::time::sleep(pause).await;
        for (method, answer) in answers {
            let request = if *method == "initialize" { &hello } else { &probe };
            match answer {
                Ok(result) => peer.answer(request, result).await,
                Err(error) => peer.refuse(request, error).await,
            }
        }
        peer
    })
    .await;
    (connected.map(|(client, _)| client.server_facts().version), began.elapsed())
}

const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#;

#[test]
fn after_silence_whichever_answer_comes_counts() {
    bounded(async {
        let hello = initialized("2025-11-25");
        let (hello, no) = (Ok(hello.as_str()), Err(UNKNOWN));
        let found = Ok(DISCOVERED);
        let (legacy, modern) = (Version::V2025_11_25, Version::V2026_07_28);
        let cases: [(&[_], _); 6] = [
            (&[("initialize", hello)], legacy),
            (&[("server/discover", found)], modern),
            (&[("server/discover", no), ("initialize", hello)], legacy),
            (&[("initialize", no), ("server/discover", found)], modern),
            // Both answers at once, as after a cold start: the modern one counts, in any order.
            (&[("initialize", hello), ("server/discover", found)], modern),
            (&[("server/discover", found), ("initialize", hello)], modern),
        ];
        for (answers, expected) in cases {
            let (version, _) =
                slow(options(VersionNegotiation::Probe), Duration::from_secs(1), answers).await;
            assert_eq!(version.unwrap(), expected, "{answers:?}");
        }
    });
}

#[test]
fn a_cold_start_takes_as_long_as_the_timeout_allows() {
    bounded(async {
        let hello = initialized("2025-11-25");
        let answers = [("initialize", Ok(hello.as_str()))];
        let mut patient = options(VersionNegotiation::Probe);
        patient.connect_timeout = Duration::from_mins(1);
        let pause = Duration::from_secs(37);
        let (version, took) = slow(patient, pause, &answers).await;
        assert_eq!(version.unwrap(), Version::V2025_11_25);
        assert!((40..41).contains(&took.as_secs()), "{took:?}");
    });
}

#[test]
fn silence_ends_at_the_connect_timeout() {
    bounded(async {
        let (_peer, target) = Peer::new();
        let began = Instant::now();
        let connected =
            switchboard_wire::client::Client::connect(target, options(VersionNegotiation::Probe))
                .await;
        let error = connected.err().unwrap();
        assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
        assert_eq!(began.elapsed().as_secs(), 30);
    });
}

#[test]
fn a_remembered_era_is_tried_first_and_may_be_wrong() {
    bounded(async {
        let cached = |version| {
            let mut options = options(VersionNegotiation::Probe);
            let eras = Arc::new(EraCache::default());
            let (near, _) = switchboard_wire::link::pair::link_pair();
            eras.put(&ServerTarget::InProcess(near).key(), version);
            options.eras = Some(eras);
            options
        };
        // The cache is right: no probe.
        let (connected, _) = connect_with(cached(Version::V2025_06_18), async |mut peer| {
            let hello = peer.expect("initialize").await;
            peer.answer(&hello, &initialized("2025-11-25")).await;
            peer.hear("notifications/initialized").await;
            peer
        })
        .await;
        assert_eq!(connected.unwrap().0.server_facts().version, Version::V2025_11_25);
        // The cache is wrong: the server has become modern, and then legacy again.
        let (connected, _) = connect_with(cached(Version::V2025_06_18), async |mut peer| {
            let hello = peer.expect("initialize").await;
            peer.refuse(&hello, UNKNOWN).await;
            let probe = peer.expect("server/discover").await;
            peer.answer(&probe, DISCOVERED).await;
            peer
        })
        .await;
        assert_eq!(connected.unwrap().0.server_facts().version, Version::V2026_07_28);
        let (connected, _) = connect_with(cached(Version::V2026_07_28), async |mut peer| {
            peer.shake_hands("{}").await;
            peer
        })
        .await;
        assert_eq!(connected.unwrap().0.server_facts().version, Version::V2025_11_25);
    });
}
