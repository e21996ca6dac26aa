//! Sessions that several replicas share.

use async_nats::jetstream;
use bytes::Bytes;
use futures_util::StreamExt as _;
use switchboard_cluster::{Cluster, ClusterError, KeyPurpose, SessionRecord};
use switchboard_testkit::nats::NatsServer;

use crate::support::{Secrets, join, options};

const CLIENT: &[u8] = br#"{"clientInfo":{"name":"zebra"}}"#;

async fn two(nats: &NatsServer, secrets: &Secrets) -> (Cluster, Cluster) {
    let options = options(&nats.url(), &secrets.key(1));
    (join(&options, "one", "aa").await, join(&options, "two", "aa").await)
}

fn set(text: &str) -> impl Fn(&mut SessionRecord) {
    move |record| record.settings = Some(text.to_owned())
}

#[tokio::test]
async fn a_session_is_found_by_its_id_at_every_replica() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let (name, id) = one.sessions().begin("ann", CLIENT).await.unwrap();
    assert!(id.len() < 1024 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
    let found = two.sessions().find("ann", &id).await.unwrap().unwrap();
    assert_eq!((found.name, &found.client[..]), (name.clone(), CLIENT));
    assert_eq!(found.record, SessionRecord::default());
    let (_, other) = one.sessions().begin("ann", CLIENT).await.unwrap();
    assert_ne!(other, id, "of one client, too");
    for (owner, id) in [("bob", &*id), ("ann", &id[1..]), ("ann", ""), ("ann", "x y")] {
        assert!(two.sessions().find(owner, id).await.unwrap().is_none(), "{owner} {id}");
    }
    two.sessions().change(&name, |record| record.ended = true).await.unwrap();
    assert!(one.sessions().find("ann", &id).await.unwrap().is_none(), "it has ended");
}

#[tokio::test]
async fn changes_of_several_replicas_are_all_kept_and_followed() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut followed = two.sessions().follow().await.unwrap();
    let (name, id) = one.sessions().begin("ann", CLIENT).await.unwrap();
    let add = |cluster: &Cluster, letter: char| {
        let (sessions, name) = (cluster.sessions().clone(), name.clone());
        async move {
            let add = |record: &mut SessionRecord| {
                record.settings.get_or_insert_default().push(letter);
            };
            sessions.change(&name, add).await.unwrap();
        }
    };
    tokio::join!(add(&one, 'a'), add(&two, 'b'), add(&one, 'c'), add(&two, 'd'));
    let found = two.sessions().find("ann", &id).await.unwrap().unwrap();
    let mut letters: Vec<_> = found.record.settings.unwrap().chars().collect();
    letters.sort_unstable();
    assert_eq!((letters, found.record.version), (vec!['a', 'b', 'c', 'd'], 4));
    for version in 1..=4 {
        let (changed, record) = followed.recv().await.unwrap();
        assert_eq!((changed, record.version), (name.clone(), version));
    }
}

#[tokio::test]
async fn a_watch_goes_on_after_nats_was_away() {
    let (mut nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut followed = two.sessions().follow().await.unwrap();
    let (name, _) = one.sessions().begin("ann", CLIENT).await.unwrap();
    nats.kill();
    assert!(one.sessions().change(&name, set("lost")).await.is_err());
    nats.restart();
    let mut changed = one.sessions().change(&name, set("back")).await;
    for _ in 0..10 {
        if changed.is_ok() {
            break;
        }
        changed = one.sessions().change(&name, set("back")).await;
    }
    changed.unwrap();
    loop {
        let (_, record) = followed.recv().await.unwrap();
        if record.settings.as_deref() == Some("back") {
            return;
        }
    }
}

#[tokio::test]
async fn nats_can_neither_read_a_session_nor_bring_one_back() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let (name, id) = one.sessions().begin("ann", CLIENT).await.unwrap();
    one.sessions().change(&name, set("zebra")).await.unwrap();
    let client = async_nats::connect(nats.url()).await.unwrap();
    let stream = jetstream::new(client);
    let records = stream.get_key_value("switchboard_team_sessions").await.unwrap();
    let clients = stream.get_key_value("switchboard_team_clients").await.unwrap();
    let keys: Vec<_> = clients.keys().await.unwrap().collect().await;
    let [Ok(client_key)] = &keys[..] else { panic!("{keys:?}") };
    for value in [
        records.get(name.as_str()).await.unwrap().unwrap(),
        clients.get(client_key.clone()).await.unwrap().unwrap(),
    ] {
        assert!(!value.windows(5).any(|part| part == b"zebra"), "it is sealed");
    }
    let (other, other_id) = one.sessions().begin("ann", CLIENT).await.unwrap();
    one.sessions().change(&other, set("other")).await.unwrap();
    let foreign = records.get(other.as_str()).await.unwrap().unwrap();
    records.put(name.as_str(), foreign).await.unwrap();
    assert!(two.sessions().find("ann", &id).await.unwrap().is_none(), "another session's record");
    records.put(other.as_str(), Bytes::from_static(b"{}")).await.unwrap();
    assert!(two.sessions().find("ann", &other_id).await.unwrap().is_none(), "an invented record");
}

#[tokio::test]
async fn a_record_of_a_key_that_a_replica_lacks_is_not_written_over() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (old, new) = ("01".repeat(32), "02".repeat(32));
    let (mine, theirs) = (secrets.file("mine", &old), secrets.file("theirs", &old));
    let one = join(&options(&nats.url(), &mine), "one", "aa").await;
    let two = join(&options(&nats.url(), &theirs), "two", "aa").await;
    let (name, id) = one.sessions().begin("ann", CLIENT).await.unwrap();
    secrets.file("mine", &format!("{new}\n{old}\n"));
    one.keys().reload().unwrap();
    one.sessions().change(&name, set("info")).await.unwrap();
    let refused = [
        two.sessions().change(&name, set("error")).await.err(),
        two.sessions().find("ann", &id).await.err(),
        two.sessions().record(&name).await.err(),
    ];
    for error in refused {
        let error = error.expect("it is neither used nor taken for ended");
        assert!(matches!(error, ClusterError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains("needs all lines of the others"), "{error}");
    }
    let kept = one.sessions().find("ann", &id).await.unwrap().unwrap();
    assert_eq!(kept.record.settings.as_deref(), Some("info"), "it was not written over");
    secrets.file("theirs", &format!("{old}\n{new}\n"));
    two.keys().reload().unwrap();
    two.sessions().change(&name, set("error")).await.unwrap();
    let found = one.sessions().find("ann", &id).await.unwrap().unwrap();
    assert_eq!(found.record.settings.as_deref(), Some("error"));
}

#[tokio::test]
async fn a_record_of_a_later_version_is_not_written_over() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, _two) = two(&nats, &secrets).await;
    let (name, id) = one.sessions().begin("ann", CLIENT).await.unwrap();
    let client = async_nats::connect(nats.url()).await.unwrap();
    let records = jetstream::new(client).get_key_value("switchboard_team_sessions").await.unwrap();
    let later = br#"{"format":2,"version":1,"ended":false,"settings":{"new":"form"}}"#;
    let sealed = one.keys().seal(KeyPurpose::SessionRecord, name.as_str(), later).unwrap();
    records.put(name.as_str(), sealed.clone().into()).await.unwrap();
    let error = one.sessions().change(&name, set("info")).await.unwrap_err();
    assert!(error.to_string().contains("later version"), "{error}");
    assert!(one.sessions().find("ann", &id).await.is_err(), "it is not taken for ended");
    assert_eq!(records.get(name.as_str()).await.unwrap().unwrap(), sealed);
    one.sessions().end(&name).await.unwrap();
    assert!(one.sessions().find("ann", &id).await.unwrap().is_none(), "its client may end it");
}

#[tokio::test]
async fn nats_cannot_undo_an_end_that_a_replica_saw() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut followed = two.sessions().follow().await.unwrap();
    let (name, id) = one.sessions().begin("ann", CLIENT).await.unwrap();
    one.sessions().change(&name, set("info")).await.unwrap();
    let client = async_nats::connect(nats.url()).await.unwrap();
    let records = jetstream::new(client).get_key_value("switchboard_team_sessions").await.unwrap();
    let before = records.get(name.as_str()).await.unwrap().unwrap();
    one.sessions().end(&name).await.unwrap();
    while !followed.recv().await.unwrap().1.ended {}
    for is_replayed in [true, false] {
        if is_replayed {
            records.put(name.as_str(), before.clone()).await.unwrap();
        } else {
            records.purge(name.as_str()).await.unwrap();
        }
        for replica in [&one, &two] {
            assert!(replica.sessions().find("ann", &id).await.unwrap().is_none());
            assert!(replica.sessions().record(&name).await.unwrap().ended);
        }
    }
    records.put(name.as_str(), before).await.unwrap();
    two.sessions().change(&name, set("error")).await.unwrap();
    let new = join(&options(&nats.url(), &secrets.key(1)), "new", "aa").await;
    assert!(new.sessions().record(&name).await.unwrap().ended, "a later change heals the record");
}
