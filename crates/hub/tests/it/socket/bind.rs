//! Tests of binding the socket: one hub for each place.

use std::{os::unix::net::UnixListener, time::Duration};

use switchboard_hub::socket::{HubListener, SocketError};

use super::{
    Room,
    room::{HELLO, options, tool},
};
use switchboard_testkit::deadline::soon;

const NO_TIME: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_leftover_is_replaced_and_a_hub_is_not() {
    let room = Room::new();
    // Dropped without being removed, as by a `kill -9`.
    drop(UnixListener::bind(room.place().socket_path()).unwrap());
    let hub = room.listen(options()).await;
    let second = HubListener::bind(&room.place(), NO_TIME).await;
    assert!(matches!(second, Err(SocketError::AlreadyRunning { .. })), "{second:?}");
    assert!(room.call().await.ask(HELLO).await.contains(r#""ok":true"#));
    hub.stop.cancel();
    hub.ended().await;
    assert!(!room.place().socket_path().exists());
}

#[tokio::test]
async fn a_socket_that_answers_is_not_replaced_even_without_its_lock() {
    let room = Room::new();
    let _hub = room.listen(options()).await;
    std::fs::remove_file(room.place().lock_path()).unwrap();
    let second = HubListener::bind(&room.place(), NO_TIME).await;
    assert!(matches!(second, Err(SocketError::AlreadyRunning { .. })), "{second:?}");
}

#[tokio::test]
async fn the_next_hub_waits_for_the_last_to_be_gone() {
    let room = Room::new();
    let hub = room.listen(options()).await;
    hub.stop.cancel();
    let ended = hub.ended().await;
    // It no longer listens, but what it had started may still be running.
    let second = HubListener::bind(&room.place(), NO_TIME).await;
    assert!(matches!(second, Err(SocketError::Locked { .. })), "{second:?}");
    let place = room.place();
    let waiting =
        tokio::spawn(async move { HubListener::bind(&place, Duration::from_secs(30)).await });
    drop(ended.lock);
    soon(waiting).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_socket_that_was_removed_comes_back() {
    let room = Room::new();
    let hub = room.listen(options()).await;
    let mut before = room.greet().await;
    std::fs::remove_file(room.place().socket_path()).unwrap();
    let back = async {
        while !room.place().socket_path().exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon(back).await;
    assert!(room.call().await.ask(HELLO).await.contains(r#""ok":true"#));
    assert!(before.ask(&tool(1, "echo", "{}")).await.contains("result"));
    hub.stop.cancel();
    hub.ended().await;
}
