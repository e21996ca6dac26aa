//! Replicas that ask one another.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use switchboard_cluster::{
    Cluster, KeyPurpose, PeerError, PeerEvent, PeerReply, PeerRequest, ReplicaId,
};
use switchboard_testkit::nats::NatsServer;
use tokio::sync::{mpsc, oneshot};

use crate::support::{Secrets, join, options};

async fn two(nats: &NatsServer, secrets: &Secrets) -> (Cluster, Cluster) {
    let options = options(&nats.url(), &secrets.key(1));
    (join(&options, "one", "aa").await, join(&options, "two", "aa").await)
}

async fn request(events: &mut mpsc::Receiver<PeerEvent>) -> PeerRequest {
    match events.recv().await.unwrap() {
        PeerEvent::Request(request) => request,
        PeerEvent::Notice(_) => panic!("a notice"),
    }
}

/// The pieces of a reply, as one text.
async fn text(mut reply: PeerReply) -> Result<Vec<u8>, PeerError> {
    let mut text = Vec::new();
    while let Some(piece) = reply.next().await? {
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

#[tokio::test]
async fn a_request_of_many_pieces_is_answered_in_many_pieces() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut events = two.peers().take_events().unwrap();
    let body = vec![b'x'; 9 << 20];
    let answering = async {
        let request = request(&mut events).await;
        assert_eq!((&request.from, request.body.len()), (one.id(), 9 << 20));
        let pieces = stream::iter((0..20).map(|_| Bytes::from(vec![b'y'; 1 << 20])));
        request.answer(async { (b"head".to_vec(), pieces) }).await;
    };
    let asking = async { text(one.peers().request(two.id(), &body).await.unwrap()).await.unwrap() };
    let (answer, ()) = tokio::join!(asking, answering);
    assert_eq!((&answer[..4], answer.len()), (&b"head"[..], 4 + (20 << 20)));
}

#[tokio::test]
async fn a_replica_that_is_not_there_is_noticed_at_once() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, _two) = two(&nats, &secrets).await;
    let nobody = ReplicaId::of_text("0123456789ab").unwrap();
    let begun = Instant::now();
    let reply = one.peers().request(&nobody, b"hello").await.unwrap();
    let error = text(reply).await.unwrap_err();
    assert!(matches!(error, PeerError::Gone), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(3), "without a timeout");
}

#[tokio::test]
async fn the_work_ends_with_the_interest_in_it() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut events = two.peers().take_events().unwrap();
    let mut reply = one.peers().request(two.id(), b"hello").await.unwrap();
    let (held, dropped) = oneshot::channel::<Infallible>();
    let request = request(&mut events).await;
    let answering = tokio::spawn(request.answer(async {
        let endless = stream::once(async { Bytes::from_static(b"first") });
        let endless = endless.chain(stream::pending()).inspect(move |_| {
            let _held = &held;
        });
        (Vec::from(b"head"), endless.boxed())
    }));
    for expected in ["head", "first"] {
        assert_eq!(reply.next().await.unwrap().unwrap(), expected);
    }
    drop(reply);
    assert!(dropped.await.is_err());
    answering.await.unwrap();
}

/// The frames of a sign of life, as the other side of an exchange sends it.
fn alive(number: u64) -> Vec<u8> {
    [&[1, 5][..], &number.to_le_bytes(), &[0; 8]].concat()
}

/// A replica that has lost its power, and NATS that goes on showing its last sign of life.
#[tokio::test]
async fn a_silent_replica_is_noticed_within_ten_seconds_whatever_nats_repeats() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut events = two.peers().take_events().unwrap();
    let liar = async_nats::connect(nats.url()).await.unwrap();
    let mut seen = liar.subscribe(format!("switchboard.team.to.{}.*", two.id())).await.unwrap();
    liar.flush().await.unwrap();
    let mut reply = one.peers().request(two.id(), b"hello").await.unwrap();
    // Its frames no longer leave.
    std::mem::forget(request(&mut events).await);
    let subject = seen.next().await.unwrap().reply.unwrap().to_string();
    let frame = one.keys().seal(KeyPurpose::PeerMessage, &subject, &alive(1)).unwrap();
    let begun = Instant::now();
    let repeating = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(500));
        loop {
            ticks.tick().await;
            liar.publish(subject.clone(), frame.clone().into()).await.unwrap();
        }
    };
    let error = tokio::select! {
        answer = reply.next() => answer.unwrap_err(),
        () = repeating => return,
    };
    assert!(matches!(error, PeerError::Silent), "{error}");
    let silent = begun.elapsed();
    assert!((7..10).contains(&silent.as_secs()), "{silent:?}");
}

#[tokio::test]
async fn new_signs_of_life_keep_an_exchange_open() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut events = two.peers().take_events().unwrap();
    let mut reply = one.peers().request(two.id(), b"hello").await.unwrap();
    let (answer, waiting) = oneshot::channel();
    let request = request(&mut events).await;
    let answering = tokio::spawn(request.answer(async {
        let head: Vec<u8> = waiting.await.unwrap();
        (head, stream::empty())
    }));
    let early = tokio::time::timeout(Duration::from_secs(9), reply.next()).await;
    assert!(early.is_err(), "{early:?}");
    answer.send(b"late".to_vec()).unwrap();
    assert_eq!(reply.next().await.unwrap().unwrap(), "late");
    answering.await.unwrap();
}

#[tokio::test]
async fn a_notice_reaches_all_others_once() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let (mut own, mut events) =
        (one.peers().take_events().unwrap(), two.peers().take_events().unwrap());
    one.peers().notify_all(b"hello there").await.unwrap();
    assert!(matches!(events.recv().await, Some(PeerEvent::Notice(text)) if text == b"hello there"));
    two.peers().notify_all(b"and back").await.unwrap();
    assert!(matches!(own.recv().await, Some(PeerEvent::Notice(text)) if text == b"and back"));
}

#[tokio::test]
async fn replayed_changed_and_foreign_messages_are_refused() {
    let (nats, secrets) = (NatsServer::start(), Secrets::new());
    let (one, two) = two(&nats, &secrets).await;
    let mut events = two.peers().take_events().unwrap();
    let liar = async_nats::connect(nats.url()).await.unwrap();
    let mut seen = liar.subscribe("switchboard.team.>").await.unwrap();
    liar.flush().await.unwrap();
    // One after the other: the two arrive on subscriptions of their own, in no order.
    one.peers().notify_all(b"notice").await.unwrap();
    assert!(matches!(events.recv().await, Some(PeerEvent::Notice(_))));
    let reply = one.peers().request(two.id(), b"request").await.unwrap();
    let (release, released) = oneshot::channel::<()>();
    // It is answered from now on: a request that nobody answers says nothing, and is gone after some seconds.
    let answering = tokio::spawn(request(&mut events).await.answer(async {
        released.await.unwrap();
        (b"once".to_vec(), stream::empty())
    }));
    let mut taken = Vec::new();
    while taken.len() < 4 {
        let message = seen.next().await.unwrap();
        let parts = [&b"notice"[..], b"request"];
        let shows = |part: &&[u8]| message.payload.windows(part.len()).any(|own| own == *part);
        assert!(!parts.iter().any(shows), "NATS cannot read it");
        taken.push(message);
    }
    for message in &taken {
        liar.publish(message.subject.clone(), message.payload.clone()).await.unwrap();
        let mut changed = message.payload.to_vec();
        if let Some(last) = changed.last_mut() {
            *last ^= 1;
        }
        liar.publish(message.subject.clone(), changed.into()).await.unwrap();
        let moved = format!("switchboard.team.to.{}.{}", two.id(), "ab".repeat(16));
        liar.publish(moved, message.payload.clone()).await.unwrap();
    }
    liar.publish("switchboard.team.all", "invented".into()).await.unwrap();
    liar.flush().await.unwrap();
    release.send(()).unwrap();
    answering.await.unwrap();
    assert_eq!(text(reply).await.unwrap(), b"once");
    // What comes next is the next that `one` says, so nothing of the liar's came in between.
    one.peers().notify_all(b"after").await.unwrap();
    assert!(matches!(events.recv().await, Some(PeerEvent::Notice(text)) if text == b"after"));
}
