//! NATS of three nodes.

use switchboard_testkit::nats::NatsTrio;

use crate::support::{Secrets, options, says, status, try_join};

#[tokio::test]
async fn three_nodes_keep_the_data_and_one_may_end() {
    let (mut nats, secrets) = (NatsTrio::start(), Secrets::new());
    let options = options(&nats.url(), &secrets.key(1));
    // The nodes choose a leader first.
    let mut joined = try_join(&options, "one", "aa").await;
    for _ in 0..10 {
        if joined.is_ok() {
            break;
        }
        joined = try_join(&options, "one", "aa").await;
    }
    let one = joined.unwrap();
    assert!(one.warnings().is_empty(), "{:?}", one.warnings());
    assert_eq!(status(&options).await.copies, 3);
    nats.node(0).kill();
    // A new leader may have to be chosen.
    let mut last = None;
    for _ in 0..10 {
        match switchboard_cluster::read_status(&options).await {
            Ok(seen) => {
                assert_eq!(seen.replicas.len(), 1);
                assert!(!says(&seen.warnings, &["node"]), "{:?}", seen.warnings);
                return;
            }
            Err(error) => last = Some(error),
        }
    }
    panic!("{last:?}");
}
