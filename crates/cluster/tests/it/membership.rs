//! Replicas that join, differ and leave.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_cluster::{ClusterError, ClusterKeys, KeyPurpose, ReplicaState};
use switchboard_testkit::nats::NatsServer;

use crate::support::{Secrets, join, options, says, status, try_join, until};

#[tokio::test]
async fn replicas_are_seen_until_they_leave() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let options = options(&nats.url(), &secrets.key(1));
    let nothing = status(&options).await;
    assert_eq!((nothing.replicas.len(), nothing.copies), (0, 0));
    let (one, two) = (join(&options, "one", "aa").await, join(&options, "two", "aa").await);
    assert!(says(one.warnings(), &["NATS is one node"]), "{:?}", one.warnings());
    let seen = status(&options).await;
    let mut hosts: Vec<_> = seen.replicas.iter().map(|replica| &*replica.facts.host).collect();
    hosts.sort_unstable();
    assert_eq!((hosts, seen.copies), (vec!["one", "two"], 1));
    assert!(seen.replicas.iter().all(|replica| replica.state == ReplicaState::Alive));
    assert!(!says(&seen.warnings, &["configuration"]), "{:?}", seen.warnings);
    assert!(says(&seen.warnings, &["NATS is one node"]), "{:?}", seen.warnings);
    assert!(says(&seen.notes, &["sync_interval"]), "{:?}", seen.notes);
    one.leave().await.unwrap();
    let rest = status(&options).await;
    assert_eq!(rest.replicas.len(), 1);
    assert_eq!(rest.replicas[0].id, *two.id());
    two.leave().await.unwrap();
}

#[tokio::test]
async fn a_different_configuration_is_reported() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let options = options(&nats.url(), &secrets.key(1));
    let one = join(&options, "one", "aa").await;
    let two = join(&options, "two", "bb").await;
    let seen = status(&options).await;
    let (one, two) = (one.id().as_str(), two.id().as_str());
    let parts = ["configuration is not the same", &format!("aa on {one}"), &format!("bb on {two}")];
    assert!(says(&seen.warnings, &parts), "{:?}", seen.warnings);
}

#[tokio::test]
async fn another_key_file_is_reported_on_both_sides() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (ours, theirs) =
        (options(&nats.url(), &secrets.key(1)), options(&nats.url(), &secrets.key(2)));
    let one = join(&ours, "one", "aa").await;
    let two = join(&theirs, "two", "aa").await;
    assert!(says(two.warnings(), &[one.id().as_str(), "another key file"]));
    let seen = status(&ours).await;
    assert_eq!(seen.replicas.len(), 1);
    assert!(says(&seen.warnings, &[two.id().as_str(), "another key file"]), "{:?}", seen.warnings);
}

#[tokio::test]
async fn clusters_of_other_names_are_apart() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let ours = options(&nats.url(), &secrets.key(1));
    let mut theirs = ours.clone();
    theirs.name = "other".parse().unwrap();
    let _one = join(&ours, "one", "aa").await;
    let other = join(&theirs, "two", "bb").await;
    assert_eq!(status(&ours).await.replicas.len(), 1);
    assert_eq!(status(&theirs).await.replicas[0].id, *other.id());
}

#[test]
fn a_changed_key_file_counts_without_a_restart() {
    let (secrets, name) = (Secrets::new(), "team".parse().unwrap());
    let (old, new) = ("01".repeat(32), "02".repeat(32));
    let path = secrets.file("keys", &old);
    let keys = ClusterKeys::load(&path, &name).unwrap();
    let sealed = keys.seal(KeyPurpose::Heartbeat, "a", b"text").unwrap();
    secrets.file("keys", &format!("{new}\n{old}\n"));
    keys.reload().unwrap();
    assert_eq!(keys.ids().len(), 2);
    assert_eq!(keys.open(KeyPurpose::Heartbeat, "a", &sealed).unwrap(), b"text");
    let newer = keys.seal(KeyPurpose::Heartbeat, "a", b"newer").unwrap();
    secrets.file("keys", "nonsense");
    let error = keys.reload().unwrap_err().to_string();
    assert!(error.contains("line 1 is no key") && !error.contains("nonsense"), "{error}");
    assert_eq!(keys.open(KeyPurpose::Heartbeat, "a", &newer).unwrap(), b"newer", "the keys stay");
    secrets.file("keys", &new);
    keys.reload().unwrap();
    assert!(keys.open(KeyPurpose::Heartbeat, "a", &sealed).is_err(), "the old key is gone");
}

#[tokio::test]
async fn nats_with_little_room_is_enough_or_is_named_as_the_cause() {
    let secrets = Secrets::new();
    for (bytes, is_enough) in [("1GB", true), ("100MB", false)] {
        let nats = NatsServer::with_storage(bytes);
        let joined = try_join(&options(&nats.url(), &secrets.key(1)), "one", "aa").await;
        match joined {
            Ok(_) => assert!(is_enough),
            Err(error) => {
                assert!(!is_enough && matches!(error, ClusterError::Space { .. }), "{error}");
                assert!(error.to_string().contains("has no room"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn replicas_are_counted_until_nats_is_away() {
    let (mut nats, secrets) = (NatsServer::start(), Secrets::new());
    let mut options = options(&nats.url(), &secrets.key(1));
    // Longer than a replica may be silent.
    options.stale_after = Duration::from_secs(12);
    let one = join(&options, "one", "aa").await;
    let count = || one.members().load(Ordering::Relaxed);
    let (two, three) = (join(&options, "two", "aa").await, join(&options, "three", "aa").await);
    until("all three are counted", || count() == 3).await;
    three.leave().await.unwrap();
    until("one has left", || count() == 2).await;
    nats.kill();
    let contact = one.contact();
    until("it is stale", || contact.problem().is_some()).await;
    assert_eq!(count(), 2, "it is as it was");
    drop(two);
    nats.restart();
    until("the other one is gone", || count() == 1).await;
}

#[tokio::test]
async fn clocks_that_are_wrong_are_named() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let options = options(&nats.url(), &secrets.key(1));
    let one = join(&options, "one", "aa").await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let client = async_nats::connect(nats.url()).await.unwrap();
    let store = async_nats::jetstream::new(client);
    let bucket = store.get_key_value("switchboard_team_replicas").await.unwrap();
    for (id, sent, said) in [
        ("000000000001", now.checked_sub(Duration::from_secs(100)).unwrap(), "behind"),
        ("000000000002", now + Duration::from_secs(100), "ahead"),
    ] {
        let record = serde_json::json!({
            "format": 1, "version": "1", "host": "a", "listen": "b", "started": 0,
            "sent": u64::try_from(sent.as_millis()).unwrap(), "config": null, "keys": [],
            "writeMillis": null, "warnings": [],
        });
        let text = record.to_string();
        let sealed = one.keys().seal(KeyPurpose::Heartbeat, id, text.as_bytes()).unwrap();
        bucket.put(id, sealed.into()).await.unwrap();
        let seen = status(&options).await;
        assert!(says(&seen.warnings, &["clock", id, said]), "{:?}", seen.warnings);
    }
}
