//! NATS that moves, changes and invents records, or is too old.

use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::kv::Store;
use bytes::Bytes;
use switchboard_cluster::ClusterError;
use switchboard_testkit::nats::NatsServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{Secrets, join, options, says, status, try_join};

async fn bucket(url: &str) -> Store {
    let client = async_nats::connect(url).await.unwrap();
    jetstream::new(client).get_key_value("switchboard_team_replicas").await.unwrap()
}

#[tokio::test]
async fn moved_changed_and_invented_records_are_refused() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let options = options(&nats.url(), &secrets.key(1));
    let one = join(&options, "one", "aa").await;
    let bucket = bucket(&nats.url()).await;
    let record = bucket.get(one.id().as_str()).await.unwrap().unwrap();
    assert!(!record.windows(3).any(|part| part == b"one"), "it is not readable for NATS");
    let mut changed = record.to_vec();
    if let Some(last) = changed.last_mut() {
        *last ^= 1;
    }
    let other_key = {
        let mut record = record.to_vec();
        record[1] ^= 1;
        record
    };
    for (key, value) in [
        ("moved", record.to_vec()),
        ("changed", changed),
        ("invented", b"{}".to_vec()),
        ("empty", Vec::new()),
        ("otherkey", other_key),
    ] {
        bucket.put(key, Bytes::from(value)).await.unwrap();
    }
    let seen = status(&options).await;
    let ids: Vec<_> = seen.replicas.iter().map(|replica| replica.id.as_str()).collect();
    assert_eq!(ids, [one.id().as_str()]);
    for key in ["moved", "changed", "invented", "empty"] {
        assert!(says(&seen.warnings, &[key, "was refused"]), "{key}: {:?}", seen.warnings);
    }
    assert!(says(&seen.warnings, &["otherkey", "another key file"]), "{:?}", seen.warnings);
}

/// A server that speaks enough of the protocol to be asked for its version.
async fn old_server(listener: TcpListener) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let info = r#"INFO {"server_id":"X","version":"2.9.10","max_payload":1048576,"headers":true}"#;
    stream.write_all(format!("{info}\r\n").as_bytes()).await.unwrap();
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {
        if stream.write_all(b"PONG\r\n").await.is_err() {
            break;
        }
    }
}

#[tokio::test]
async fn an_old_server_is_refused_with_its_version() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(old_server(listener));
    let secrets = Secrets::new();
    let error = try_join(&options(&url, &secrets.key(1)), "one", "aa").await.err().unwrap();
    assert!(
        matches!(&error, ClusterError::Version { version, .. } if version == "2.9.10"),
        "{error}"
    );
    serving.abort();
}

#[tokio::test]
async fn a_server_that_says_nothing_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let secrets = Secrets::new();
    let options = options(&url, &secrets.key(1));
    let joining = tokio::time::timeout(Duration::from_secs(15), try_join(&options, "one", "aa"));
    let error = joining.await.expect("it ends").err().unwrap();
    assert!(matches!(error, ClusterError::Connect { .. }), "{error}");
}
