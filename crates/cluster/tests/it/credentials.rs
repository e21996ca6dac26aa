//! Who may come in: users, tokens, and files that others can read.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use switchboard_cluster::ClusterError;
use switchboard_testkit::nats::{NatsOptions, NatsServer};

use crate::support::{Secrets, join, options, status, try_join};

fn guarded() -> NatsServer {
    NatsServer::with(&NatsOptions { user: Some(("ann".into(), "p@ss".into())), tls: None })
}

#[tokio::test]
async fn a_user_comes_in_by_url_or_by_file() {
    let (nats, secrets) = (guarded(), Secrets::new());
    let key = secrets.key(1);
    let by_url = options(&nats.url().replace("//", "//ann:p%40ss@"), &key);
    let _one = join(&by_url, "one", "aa").await;
    let mut by_file = options(&nats.url(), &key);
    by_file.credentials_file = Some(secrets.file("nats", "ann:p@ss\n"));
    let _two = join(&by_file, "two", "aa").await;
    let seen = status(&by_file).await;
    assert_eq!(seen.replicas.len(), 2);
    assert_eq!(seen.nats, nats.url(), "without the user");
}

#[tokio::test]
async fn a_stranger_is_refused_and_no_password_is_shown() {
    let (nats, secrets) = (guarded(), Secrets::new());
    let key = secrets.key(1);
    for url in [nats.url(), nats.url().replace("//", "//ann:hunter2@")] {
        let error = try_join(&options(&url, &key), "one", "aa").await.err().unwrap();
        assert!(matches!(error, ClusterError::Connect { .. }), "{error}");
        let shown = format!("{error} {error:?} {:?}", error.source());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[tokio::test]
async fn a_key_that_others_can_read_is_refused() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let key = secrets.key(1);
    for mode in [0o604, 0o622] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let error = try_join(&options(&nats.url(), &key), "one", "aa").await.err().unwrap();
        assert!(matches!(error, ClusterError::FileAccess { .. }), "{mode:o}: {error}");
    }
}
