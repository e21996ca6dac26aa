//! Tests of requests while no hub runs, and of a client that closes.

use std::time::Duration;

use switchboard_hub::attach::{self, AttachOptions, AttachTiming, HubLaunchOptions};
use switchboard_hub::socket::ListenOptions;
use switchboard_testkit::{processes::wait_until, programs::hub_program};
use switchboard_wire::link::{LinkFrame, LinkReader, pair::link_pair};

use super::peer::Peer;
use crate::socket::{
    Room,
    room::{INITIALIZE, INITIALIZED, options, tool},
};
use switchboard_testkit::deadline::soon;

#[tokio::test]
async fn what_is_in_flight_is_finished_when_the_client_closes() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &[]);
    client.greet().await;
    client.say(&tool(1, "tick", r#"{"times":1,"every":500}"#)).await;
    client.close();
    assert!(client.hear().await.contains(r#""id":1,"result""#));
    assert_eq!(client.hear().await, "");
    let (status, said) = client.ended().await;
    assert!(status.success(), "{said}");
}

#[tokio::test]
async fn a_stopped_hub_is_started_again_only_when_it_is_needed() {
    let room = Room::new();
    let mut client = Peer::launch(&room, &[]);
    client.greet().await;
    let hub = room.hub().await.unwrap();
    assert!(attach::request_stop(&room.place(), "0.1.0").await.unwrap().is_some());
    assert!(wait_until(Duration::from_secs(20), || !hub.is_alive()).is_some());
    // Another client would have found the time to start one, had it been told to.
    let elsewhere = Room::new();
    Peer::launch(&elsewhere, &[]).greet().await;
    assert_eq!(room.hubs().len(), 1);
    assert!(attach::request_status(&room.place(), "0.1.0").await.unwrap().is_none());

    client.say(&tool(1, "echo", "{}")).await;
    assert!(client.hear_until(r#""id":1,"#).await.1.contains("result"));
    assert_eq!(room.hubs().len(), 2);
}

async fn text(reader: &mut LinkReader) -> String {
    match soon(reader.next()).await.unwrap() {
        Some(LinkFrame::Text(text)) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn requests_wait_a_while_for_a_hub_and_are_then_refused() {
    let room = Room::new();
    let hub = room.listen(ListenOptions { drain: Duration::ZERO, ..options() }).await;
    let start = HubLaunchOptions {
        program: hub_program("hub-for-tests"),
        args: vec![room.path().into(), "fail".into()],
        env: Vec::new(),
        cwd: "/".into(),
        log: room.file("hub.log"),
    };
    let mut wanted = AttachOptions::new(room.place(), start, "0.1.0");
    wanted.timing = AttachTiming {
        hold: Duration::from_millis(300),
        pause: Duration::from_millis(20),
        ..AttachTiming::default()
    };
    let ((writer, mut reader), far) = link_pair();
    let attached = tokio::spawn(attach::attach(wanted, far));
    writer.send(INITIALIZE.into()).await.unwrap();
    assert!(text(&mut reader).await.contains("protocolVersion"));
    writer.send(INITIALIZED.into()).await.unwrap();

    hub.stop.cancel();
    drop(hub.ended().await.lock);
    let mut refused = 0;
    for id in 1.. {
        writer.send(tool(id, "echo", "{}").into()).await.unwrap();
        let answer = text(&mut reader).await;
        assert!(answer.contains(&format!(r#""id":{id},"error":{{"code":-32603"#)), "{answer}");
        // The first may have been on its way when the hub ended.
        let was_not_made = answer.contains("was not made");
        let remedy = if was_not_made { "retry" } else { "unknown" };
        assert!(answer.contains(&format!(r#""remedy":"{remedy}""#)), "{answer}");
        refused += u64::from(was_not_made);
        assert!(refused + 1 >= id, "{answer}");
        if refused == 2 {
            break;
        }
    }
    // Somebody starts a hub after all.
    let _hub = room.listen(options()).await;
    let answer = async {
        for id in 3.. {
            writer.send(tool(id, "echo", "{}").into()).await.unwrap();
            loop {
                let line = text(&mut reader).await;
                if line.contains("result") {
                    return;
                }
                if line.contains("error") {
                    break;
                }
            }
        }
    };
    soon(answer).await;
    drop((writer, reader));
    soon(attached).await.unwrap().unwrap();
}
