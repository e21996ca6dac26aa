//! Tests of subscriptions and changing lists.

use switchboard_wire::{
    Era,
    client::{InboxEvent, ListKind},
};

use super::{Bench, over_all_five};

over_all_five!(
    lists_that_change_are_heard_of,
    resources_that_change_are_heard_of,
    what_is_no_longer_wanted_is_not_heard_of,
);

/// Waits until the server has received the subscription.
async fn listening(bench: &Bench, what: &str) {
    match bench.era() {
        Era::Modern => bench.await_seen(what).await,
        // A legacy session is always notified. Over HTTP that needs the GET stream, which loses
        // nothing.
        Era::Legacy => {}
    }
}

async fn announce(bench: &Bench, what: &str) {
    bench.tool("announce", &format!(r#"{{"what":"{what}"}}"#)).await;
}

async fn lists_that_change_are_heard_of(mut bench: Bench) {
    listening(&bench, "toolsListChanged").await;
    for (what, list) in [
        ("tools", ListKind::Tools),
        ("prompts", ListKind::Prompts),
        ("resources", ListKind::Resources),
    ] {
        announce(&bench, what).await;
        let heard = bench.inbox.next().await.unwrap();
        assert!(matches!(heard, InboxEvent::ListChanged(heard) if heard == list), "{heard:?}");
    }
}

async fn resources_that_change_are_heard_of(mut bench: Bench) {
    bench.client.subscribe("a:b").await.unwrap();
    listening(&bench, r#""resourceSubscriptions":["a:b"]"#).await;
    announce(&bench, "c:d").await;
    announce(&bench, "a:b").await;
    let heard = bench.inbox.next().await.unwrap();
    assert!(matches!(&heard, InboxEvent::ResourceUpdated { uri, .. } if uri == "a:b"), "{heard:?}");
}

async fn what_is_no_longer_wanted_is_not_heard_of(mut bench: Bench) {
    for uri in ["a:b", "c:d"] {
        bench.client.subscribe(uri).await.unwrap();
    }
    bench.client.unsubscribe("a:b").await.unwrap();
    listening(&bench, r#""resourceSubscriptions":["c:d"]"#).await;
    if bench.era() == Era::Modern && bench.transport != super::Transport::Http {
        bench.await_seen("notifications/cancelled").await;
    }
    announce(&bench, "a:b").await;
    announce(&bench, "c:d").await;
    let heard = bench.inbox.next().await.unwrap();
    assert!(matches!(&heard, InboxEvent::ResourceUpdated { uri, .. } if uri == "c:d"), "{heard:?}");
}
