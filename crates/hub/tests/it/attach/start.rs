//! Tests of finding and starting a hub.

use std::time::Duration;

use switchboard_hub::attach::{self, AttachOptions, HubAttachError, HubLaunchOptions};
use switchboard_hub::socket::{HubFolders, HubPaths};
use switchboard_testkit::processes::{Identity, wait_until};
use switchboard_wire::link::pair::link_pair;

use super::peer::Peer;
use crate::socket::{
    Room,
    room::{INITIALIZE, listen, options, tool},
};
use switchboard_testkit::deadline::soon;

#[tokio::test]
async fn ten_clients_at_once_start_one_hub() {
    let room = Room::new();
    let mut clients: Vec<_> = (0..10).map(|_| Peer::launch(&room, &[])).collect();
    for client in &mut clients {
        client.greet().await;
        assert!(client.ask(&tool(1, "echo", r#"{"x":1}"#)).await.contains(r#""x":1"#));
    }
    assert_eq!(room.hubs().len(), 1);
    let status = attach::request_status(&room.place(), "0.1.0").await.unwrap().unwrap();
    assert_eq!(status.clients, 10);
}

#[tokio::test]
async fn a_hub_leaves_the_session_of_its_client_and_outlives_it() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &[]);
    client.greet().await;
    let hub = room.hub().await.unwrap();
    let session = nix::unistd::getsid(Some(nix::unistd::Pid::from_raw(hub.pid.cast_signed())));
    assert_eq!(session.unwrap().as_raw(), hub.pid.cast_signed());
    client.close();
    assert!(client.ended().await.0.success());
    assert!(hub.is_alive());
    let mut next = Peer::launch(&room, &[]);
    next.greet().await;
    assert_eq!(room.hubs().len(), 1);
}

#[tokio::test]
async fn an_idle_hub_ends_and_is_started_again() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &["idle=100"]);
    client.greet().await;
    let hub = room.hub().await.unwrap();
    client.close();
    assert!(client.ended().await.0.success());
    assert!(wait_until(Duration::from_secs(20), || !hub.is_alive()).is_some());
    Peer::launch(&room, &["idle=100"]).greet().await;
    assert_eq!(room.hubs().len(), 2);
}

#[tokio::test]
async fn a_hub_that_fails_is_quoted() {
    let room = Room::new();
    std::fs::write(room.file("hub.log"), "what an earlier hub said\n").unwrap();
    let (status, said) = Peer::launch(&room, &["fail"]).ended().await;
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("its log ends with:\ntold to fail"), "{said}");
    assert!(!said.contains("earlier"), "{said}");
}

#[tokio::test]
async fn a_server_of_a_hub_is_not_attached_to_it() {
    let room = Room::new();
    let marked = [("SWITCHBOARD_PARENT", "1")];
    let (status, said) = Peer::launch_with(&room, &[], &marked).ended().await;
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("loop"), "{said}");
    assert_eq!(room.hubs(), Vec::<u32>::new());
}

/// A hub that is never to be started.
fn nothing() -> HubLaunchOptions {
    HubLaunchOptions {
        program: "/nonexistent/hub".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
        log: "/dev/null".into(),
    }
}

#[tokio::test]
async fn a_long_home_has_a_hub_too() {
    let room = Room::new();
    let home = room.file(&"long/".repeat(40));
    let folders =
        HubFolders { config: home.join("config"), state: home.join("state"), ..room.folders() };
    let place = HubPaths::find(&folders).unwrap();
    assert!(place.socket_path().as_os_str().len() < 108);
    let _hub = listen(&place, options()).await;
    let (near, far) = link_pair();
    let attached = tokio::spawn(attach::attach(AttachOptions::new(place, nothing(), "0.1.0"), far));
    let (writer, mut reader) = near;
    writer.send(INITIALIZE.into()).await.unwrap();
    assert!(soon(reader.next()).await.unwrap().is_some());
    drop((writer, reader));
    soon(attached).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let room = Room::new();
    let options = AttachOptions::new(room.place(), nothing(), "0.1.0");
    let error = attach::attach(options, link_pair().1).await.unwrap_err();
    assert!(matches!(error, HubAttachError::Start { .. }), "{error:?}");
    assert!(error.to_string().contains("/nonexistent/hub"));
}

#[tokio::test]
async fn an_older_hub_makes_room_once() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &["version=0.0.9", "handover=1"]);
    client.greet().await;
    let first = Identity::of(room.hubs()[0]);
    let is_gone = || !first.is_some_and(Identity::is_alive);
    assert!(wait_until(Duration::from_secs(20), is_gone).is_some());
    // What is installed is as old as before: it is not asked to go again, and the client is served.
    for id in 1..20 {
        client.say(&tool(id, "tick", r#"{"times":1,"every":10}"#)).await;
        let (_, answer) = client.hear_until(&format!(r#""id":{id},"#)).await;
        assert!(answer.contains("result"), "{answer}");
    }
    assert_eq!(room.hubs().len(), 2);
}
