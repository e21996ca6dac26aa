//! Tests of clients after their hub was killed.

use super::peer::Peer;
use crate::socket::{Room, room::tool};

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A call that never ends, in flight at the hub.
async fn hang(client: &mut Peer, id: u64) {
    client.say(&tool(id, "hang", "{}")).await;
    assert!(client.ask(&tool(id + 1, "await_hanging", "{}")).await.contains("result"));
}

#[tokio::test]
async fn a_legacy_client_goes_on_at_the_next_hub() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &[]);
    client.greet().await;
    let level =
        r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}"#;
    assert!(client.ask(level).await.contains("result"));
    for (id, verb, uri) in [
        (3, "subscribe", "test://kept"),
        (4, "subscribe", "test://left"),
        (5, "unsubscribe", "test://left"),
    ] {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{verb}","params":{{"uri":"{uri}"}}}}"#
        );
        assert!(client.ask(&request).await.contains("result"));
    }
    hang(&mut client, 6).await;
    room.kill_hub().await;

    let failed = client.hear().await;
    assert!(failed.contains(r#""id":6,"error":{"code":-32603"#), "{failed}");
    assert!(failed.contains(r#""data":{"remedy":"unknown"}"#), "{failed}");
    // What the hub said of itself is said again by the next, and swallowed; lists may have changed meanwhile.
    let (before, answer) = {
        client.say(&tool(8, "echo", r#"{"again":true}"#)).await;
        client.hear_until(r#""id":8,"#).await
    };
    assert!(answer.contains(r#""again":true"#), "{answer}");
    assert!(before.iter().all(|line| line.contains("list_changed")), "{before:?}");
    assert_eq!(room.hubs().len(), 2);

    // Log level and subscriptions are what they were.
    client.say(&tool(9, "log", "{}")).await;
    let (logs, _) = client.hear_until(r#""id":9,"#).await;
    assert!(matches!(&logs[..], [one] if one.contains(r#""level":"error""#)), "{logs:?}");
    client.say(&tool(10, "announce", r#"{"what":"test://left"}"#)).await;
    client.say(&tool(11, "announce", r#"{"what":"test://kept"}"#)).await;
    let (before, told) = client.hear_until("resources/updated").await;
    assert!(told.contains("test://kept"), "{before:?} {told}");
}

#[tokio::test]
async fn a_modern_client_goes_on_at_the_next_hub() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &[]);
    let call = |id: u64, name: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"{name}","arguments":{{}},{MODERN}}}}}"#
        )
    };
    client.say(&call(1, "hang")).await;
    assert!(client.ask(&call(2, "await_hanging")).await.contains("result"));
    room.kill_hub().await;
    let failed = client.hear().await;
    assert!(failed.contains(r#""id":"1","error""#), "{failed}");
    let answer = client.ask(&call(3, "echo")).await;
    assert!(answer.contains(r#""id":"3","result""#), "{answer}");
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_by_a_loss() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &[]);
    client.greet().await;
    hang(&mut client, 1).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    client.say(cancel).await;
    assert!(client.ask(&tool(3, "await_dropped", "{}")).await.contains("result"));
    room.kill_hub().await;
    client.say(&tool(4, "echo", "{}")).await;
    let (before, _) = client.hear_until(r#""id":4,"#).await;
    assert!(before.iter().all(|line| line.contains("list_changed")), "{before:?}");
}

#[tokio::test]
async fn a_question_of_a_lost_hub_is_taken_back_and_not_mistaken_for_another() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &[]);
    client.greet().await;
    let (_, first) = {
        client.say(&tool(1, "ask", "{}")).await;
        client.hear_until("elicitation/create").await
    };
    assert!(first.contains(r#""id":1,"#), "{first}");
    room.kill_hub().await;
    let mut told = [client.hear().await, client.hear().await];
    told.sort();
    assert!(told[0].contains(r#""id":1,"error""#), "{told:?}");
    assert!(told[1].contains(r#"cancelled","params":{"requestId":1"#), "{told:?}");

    client.say(&tool(2, "ask", "{}")).await;
    let (_, second) = client.hear_until("elicitation/create").await;
    assert!(second.contains(r#""id":"hub-1-1""#), "{second}");
    // Late, and to a hub that is gone.
    client.say(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"cancel"}}"#).await;
    let now = r#"{"jsonrpc":"2.0","id":"hub-1-1","result":{"action":"accept","content":{}}}"#;
    client.say(now).await;
    let (_, answer) = client.hear_until(r#""id":2,"#).await;
    assert!(answer.contains(r#""action":"accept""#), "{answer}");
}

#[tokio::test]
async fn clients_of_one_hub_meet_again_at_one_hub() {
    let room = Room::new();
    let mut clients: Vec<_> = (0..4).map(|_| Peer::launch(&room, &[])).collect();
    for client in &mut clients {
        client.greet().await;
    }
    room.kill_hub().await;
    for client in &mut clients {
        client.say(&tool(1, "echo", "{}")).await;
        let (_, answer) = client.hear_until(r#""id":1,"#).await;
        assert!(answer.contains("result"), "{answer}");
    }
    assert_eq!(room.hubs().len(), 2);
}
