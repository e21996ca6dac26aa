//! Tests of how hubs end: stopped, idle, handed over.

use std::{sync::atomic::Ordering, time::Duration};

use switchboard_hub::socket::{GOODBYE_METHOD, HubEndReason, HubLifetime, ListenOptions};

use super::{
    Room,
    room::{INITIALIZED, Line, options, tool},
};

const STOP: &str = r#"{"switchboard":1,"version":"0.1.0","want":"stop"}"#;

fn handover(version: &str) -> String {
    format!(r#"{{"switchboard":1,"version":"{version}","want":"handover"}}"#)
}

fn brief(idle: u64) -> ListenOptions {
    let idle = Duration::from_millis(idle);
    ListenOptions::new(
        "0.1.0",
        HubLifetime::WhileUsed { idle, handover: Duration::from_millis(50) },
    )
}

/// A call that takes so many milliseconds, until its answer.
async fn pass(line: &mut Line, id: u64, millis: u64) {
    let answer = line.ask(&tool(id, "tick", &format!(r#"{{"times":1,"every":{millis}}}"#))).await;
    assert!(answer.contains("result"), "{answer}");
}

#[tokio::test]
async fn a_stopped_hub_finishes_its_calls_and_takes_no_more() {
    let room = Room::new();
    let hub = room.listen(options()).await;
    let mut client = room.greet().await;
    client.say(&tool(1, "tick", r#"{"times":1,"every":700}"#)).await;
    client.ask(&tool(2, "echo", "{}")).await;
    assert!(room.call().await.ask(STOP).await.contains(r#""ok":true"#));
    // The socket goes first, so from here on the hub is draining.
    while room.place().socket_path().exists() {
        tokio::task::yield_now().await;
    }
    client.say(INITIALIZED).await;
    let refused = client.ask(&tool(3, "echo", "{}")).await;
    assert!(refused.contains(r#""id":3,"error""#), "{refused}");
    assert!(refused.contains(r#""remedy":"retry""#), "{refused}");
    assert!(client.hear().await.contains(r#""id":1,"result""#));
    let goodbye = client.hear().await;
    assert!(goodbye.contains(GOODBYE_METHOD) && goodbye.contains("stopped"), "{goodbye}");
    assert_eq!(client.hear().await, "");
    assert_eq!(hub.ended().await.why, HubEndReason::Stopped);
}

/// A hub whose idle timeout is shorter than the time that its first client needs to attach.
#[tokio::test]
async fn a_hub_awaits_its_first_client() {
    let room = Room::new();
    let hub = room.listen(brief(0)).await;
    let mut client = room.greet().await;
    pass(&mut client, 1, 1).await;
    drop(client);
    assert_eq!(hub.ended().await.why, HubEndReason::Idle);
}

#[tokio::test]
async fn a_call_without_end_does_not_keep_a_stopped_hub() {
    let room = Room::new();
    let hub = room.listen(ListenOptions { drain: Duration::from_millis(100), ..options() }).await;
    let mut client = room.greet().await;
    client.say(&tool(1, "hang", "{}")).await;
    client.ask(&tool(2, "await_hanging", "{}")).await;
    hub.stop.cancel();
    assert_eq!(hub.ended().await.why, HubEndReason::Stopped);
}

#[tokio::test]
async fn a_hub_that_nobody_uses_ends() {
    let room = Room::new();
    let hub = room.listen(brief(200)).await;
    let mut client = room.greet().await;
    // Longer than it would stay alone.
    pass(&mut client, 1, 600).await;
    assert!(!hub.has_ended());
    drop(client);
    assert_eq!(hub.ended().await.why, HubEndReason::Idle);
    let unused = room.listen(brief(50)).await;
    assert_eq!(unused.ended().await.why, HubEndReason::Idle);
}

#[tokio::test]
async fn a_hub_with_work_of_its_own_is_not_idle() {
    let room = Room::new();
    let hub = room.listen(brief(100)).await;
    hub.behind.busy.store(true, Ordering::Relaxed);
    let elsewhere = Room::new();
    let _clock = elsewhere.listen(options()).await;
    pass(&mut elsewhere.greet().await, 1, 500).await;
    assert!(!hub.has_ended());
    hub.behind.busy.store(false, Ordering::Relaxed);
    assert_eq!(hub.ended().await.why, HubEndReason::Idle);
}

#[tokio::test]
async fn a_hub_makes_room_for_a_newer_one_when_no_call_is_in_flight() {
    let room = Room::new();
    let hub = room.listen(brief(60_000)).await;
    let mut client = room.greet().await;
    for same_or_older in ["0.1.0", "0.0.9", "nonsense"] {
        let answer = room.call().await.ask(&handover(same_or_older)).await;
        assert!(answer.contains(r#""kind":"stays""#), "{answer}");
    }
    client.say(&tool(1, "tick", r#"{"times":1,"every":500}"#)).await;
    client.ask(&tool(2, "echo", "{}")).await;
    assert!(room.call().await.ask(&handover("0.2.0")).await.contains(r#""ok":true"#));
    assert!(client.hear().await.contains(r#""id":1,"result""#));
    assert!(client.hear().await.contains("handed-over"));
    assert_eq!(hub.ended().await.why, HubEndReason::HandedOver);
}

#[tokio::test]
async fn a_hub_that_a_person_started_stays() {
    let room = Room::new();
    let _hub = room.listen(options()).await;
    let answer = room.call().await.ask(&handover("9.0.0")).await;
    assert!(answer.contains(r#""kind":"stays""#), "{answer}");
}
