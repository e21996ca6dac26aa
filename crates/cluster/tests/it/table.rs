//! The table of tokens that all replicas have.

use async_nats::jetstream;
use switchboard_testkit::nats::NatsServer;

use crate::support::{Secrets, join, options};

#[tokio::test]
async fn a_table_is_read_whole_followed_and_never_written_over_unseen() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let options = options(&nats.url(), &secrets.key(1));
    let (one, two) = (join(&options, "one", "aa").await, join(&options, "two", "aa").await);
    assert!(one.tokens().replace("a", b"first", 0).await.unwrap());
    assert!(!two.tokens().replace("a", b"mine", 0).await.unwrap(), "it is there already");
    let mut followed = two.tokens().follow().await.unwrap();
    let row = followed.recv().await.unwrap();
    assert_eq!((&*row.key, row.value.as_deref()), ("a", Some(&b"first"[..])));
    assert_eq!(two.tokens().rows().await.unwrap()["a"], row);
    assert!(two.tokens().replace("a", b"second", row.revision).await.unwrap());
    assert!(!one.tokens().replace("a", b"third", row.revision).await.unwrap(), "it has changed");
    let row = followed.recv().await.unwrap();
    assert_eq!(row.value.as_deref(), Some(&b"second"[..]));
    let client = async_nats::connect(nats.url()).await.unwrap();
    let bucket = jetstream::new(client).get_key_value("switchboard_team_tokens").await.unwrap();
    let sealed = bucket.get("a").await.unwrap().unwrap();
    assert!(!sealed.windows(6).any(|part| part == b"second"), "NATS cannot read it");
    bucket.put("b", sealed).await.unwrap();
    let moved = followed.recv().await.unwrap();
    assert_eq!((&*moved.key, moved.value), ("b", None), "a value of another place is refused");
}
