//! NATS that ends and comes back.

use std::time::Duration;

use switchboard_testkit::nats::NatsServer;

use crate::support::{Secrets, join, options, status, until};

#[tokio::test]
async fn a_replica_notices_and_comes_back_by_itself() {
    let (mut nats, secrets) = (NatsServer::start(), Secrets::new());
    let mut options = options(&nats.url(), &secrets.key(1));
    options.stale_after = Duration::from_secs(4);
    let one = join(&options, "one", "aa").await;
    let contact = one.contact();
    assert_eq!(contact.problem(), None);
    nats.kill();
    until("it is stale", || contact.problem().is_some()).await;
    let problem = contact.problem().unwrap();
    assert!(problem.contains("NATS has not answered for"), "{problem}");
    nats.restart();
    until("it is back", || contact.problem().is_none()).await;
    let seen = status(&options).await;
    assert_eq!(seen.replicas[0].id, *one.id(), "under the same id");
}
