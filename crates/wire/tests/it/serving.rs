//! Tests of `serve` with messages that arrive together: which are answered, and which are cancelled.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use switchboard_wire::{
    envelope::{Notification, RpcError},
    json::Raw,
    link::{LinkFrame, LinkReader, LinkWriter, lines, pair},
    server::{
        ByteBudget, ChangeBroadcaster, ClientFacts, HandlerReply, HandlerRequest, RequestContext,
        ServeOptions, ServerDescription, ServerHandler, serve,
    },
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// The number of repetitions. Whether a message is read before the previous one has started is a matter of chance.
const ROUNDS: usize = 32;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const NOTHING: &str = r#""_meta":{}"#;

/// A handler that records requests. `hang` never answers, `say` answers at once.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

// === impl Notes ===

impl Notes {
    fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }

    /// The number of calls that began and did not end.
    fn under_way(&self) -> usize {
        let notes = self.0.lock().unwrap();
        let count = |what| notes.iter().filter(|note| *note == what).count();
        count("begun") - count("dropped")
    }
}

struct Under<'a>(&'a Notes);

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.0.add("dropped");
    }
}

impl ServerHandler for Notes {
    fn describe(&self) -> ServerDescription {
        let capabilities = Raw::parse(r#"{"tools":{"listChanged":true}}"#.to_owned()).unwrap();
        ServerDescription { info: Raw::empty_object(), capabilities, instructions: None }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            if asked.params.as_str().contains("hang") {
                self.add("begun");
                let _under = Under(self);
                std::future::pending::<()>().await;
            }
            Ok(HandlerReply::Complete(Raw::empty_object()))
        })
    }

    fn on_notification(&self, notification: Notification, _: Option<ClientFacts>) {
        self.add(notification.method());
    }
}

fn call(id: u64, tool: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}",{meta}}}}}"#
    )
}

fn listen(id: u64) -> String {
    let wanted = r#""notifications":{"toolsListChanged":true}"#;
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{{wanted},{MODERN}}}}}"#
    )
}

fn cancel(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// Serves `link` while `with` runs.
async fn served(
    link: (LinkWriter, LinkReader),
    notes: &Arc<Notes>,
    with: impl Future<Output = Vec<String>>,
) -> Vec<String> {
    let changes = ChangeBroadcaster::default();
    let serving = serve(link, Arc::clone(notes), &changes, ServeOptions::default());
    let bounded = tokio::time::timeout(Duration::from_mins(1), with);
    tokio::select! {
        ended = serving => panic!("{ended:?}"),
        said = bounded => said.expect("something hangs"),
    }
}

/// Sends all messages in one write, as lines. Returns the answers up to the one to `last`.
async fn in_one_write(notes: &Arc<Notes>, messages: &[String], last: u64) -> Vec<String> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (source, sink) = tokio::io::split(far);
    let (writer, reader, writing) = lines::line_link(source, sink, 1 << 20);
    let writing = tokio::spawn(writing);
    let (answers, mut requests) = tokio::io::split(near);
    let text = format!("{}\n", messages.join("\n"));
    let said = served((writer, reader), notes, async {
        requests.write_all(text.as_bytes()).await.unwrap();
        let mut answers = BufReader::new(answers).lines();
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|text| answers_to(text, last)) {
            said.push(answers.next_line().await.unwrap().expect("it goes on"));
        }
        said
    })
    .await;
    writing.abort();
    said
}

/// Sends all messages at once through an in-process link.
async fn in_one_breath(notes: &Arc<Notes>, messages: &[String], last: u64) -> Vec<String> {
    let ((requests, mut answers), far) = pair::link_pair();
    for message in messages {
        requests.try_send(message.as_str().into()).unwrap();
    }
    served(far, notes, async {
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|text| answers_to(text, last)) {
            let frame = answers.next().await.unwrap().expect("it goes on");
            let LinkFrame::Text(text) = frame else { panic!("{frame:?}") };
            said.push(text.to_string());
        }
        said
    })
    .await
}

fn answers_to(text: &str, id: u64) -> bool {
    text.contains(&format!(r#""id":{id},"#)) || text.contains(&format!(r#""id":{id}}}"#))
}

/// Sends `messages`; expects answers to `answered` (the last one last), and none to `silent`.
async fn check(messages: &[String], answered: &[u64], silent: &[u64]) {
    for round in 0..ROUNDS {
        let last = *answered.last().unwrap();
        let (lines, breath) = (Arc::new(Notes::default()), Arc::new(Notes::default()));
        let said = [
            (in_one_write(&lines, messages, last).await, lines),
            (in_one_breath(&breath, messages, last).await, breath),
        ];
        for (said, notes) in said {
            let count = |id| said.iter().filter(|text| answers_to(text, id)).count();
            for id in answered {
                assert_eq!(count(*id), 1, "{id} in round {round} of {messages:#?}: {said:#?}");
            }
            for id in silent {
                assert_eq!(count(*id), 0, "{id} in round {round} of {messages:#?}: {said:#?}");
            }
            assert!(said.iter().all(|text| !text.contains("in use")), "{said:#?}");
            assert_eq!(notes.under_way(), 0, "in round {round} of {messages:#?}");
        }
    }
}

#[tokio::test]
async fn a_cancellation_right_behind_its_request_takes_it_back() {
    let hello = [INITIALIZE.to_owned(), INITIALIZED.to_owned()];
    let legacy =
        |rest: &[String]| -> Vec<String> { hello.iter().chain(rest).map(String::clone).collect() };
    // A legacy client, even one that does not wait for the handshake.
    let taken_back = [call(1, "hang", NOTHING), cancel(1), call(9, "say", NOTHING)];
    check(&legacy(&taken_back), &[0, 9], &[1]).await;
    // A modern client.
    let modern = [call(1, "hang", MODERN), cancel(1), call(9, "say", MODERN)];
    check(&modern, &[9], &[1]).await;
    // A listen request, which stays open until it is cancelled.
    check(&[listen(1), cancel(1), call(9, "say", MODERN)], &[9], &[1]).await;
    // The id is free for the next request at once.
    let again = [call(1, "hang", MODERN), cancel(1), call(1, "say", MODERN)];
    check(&again, &[1], &[]).await;
    // In a batch, behind a batch, and a batch of cancellations only.
    let in_batch = [
        format!("[{},{},{}]", call(1, "hang", NOTHING), cancel(1), call(2, "say", NOTHING)),
        format!("[{}]", call(3, "hang", NOTHING)),
        cancel(3),
        call(9, "say", NOTHING),
    ];
    check(&legacy(&in_batch), &[0, 2, 9], &[1, 3]).await;
    // Other requests continue.
    let others = [call(1, "hang", MODERN), call(2, "say", MODERN), cancel(1), cancel(7)];
    let others: Vec<_> = others.into_iter().chain([call(9, "say", MODERN)]).collect();
    check(&others, &[2, 9], &[1]).await;
}

#[tokio::test]
async fn a_greeting_cannot_be_taken_back() {
    let messages = [INITIALIZE.to_owned(), cancel(0), call(9, "say", NOTHING)];
    check(&messages, &[0, 9], &[]).await;
}

/// Each request of a batch counts; cancelled and answered requests make room again.
#[tokio::test]
async fn requests_in_flight_are_bounded_by_number_and_by_bytes() {
    let ((writer, mut reader), far) = pair::link_pair();
    let (notes, changes) = (Arc::<Notes>::default(), ChangeBroadcaster::default());
    let options = ServeOptions { max_in_flight: 3, budget: ByteBudget::new(1000) };
    let batch = |first: u64, count: u64| {
        let calls: Vec<_> = (first..first + count).map(|id| call(id, "say", NOTHING)).collect();
        format!("[{}]", calls.join(","))
    };
    let long = call(5, &"x".repeat(2000), NOTHING);
    let said = async {
        let mut said = Vec::new();
        for (message, is_answered) in [
            (INITIALIZE.to_owned(), true),
            (call(1, "hang", NOTHING), false),
            (batch(10, 3), true),
            (batch(20, 2), true),
            (long.clone(), true),
            (cancel(1), false),
            // Answered after the end of the cancelled requests.
            (batch(6, 1), true),
            (batch(30, 3), true),
            (batch(40, 4), true),
            (long, true),
        ] {
            writer.send(message.into()).await.unwrap();
            if is_answered {
                let Ok(Some(LinkFrame::Text(text))) = reader.next().await else {
                    panic!("it ended")
                };
                said.push(text.to_string());
            }
        }
        said
    };
    let said = tokio::select! {
        ended = serve(far, Arc::clone(&notes), &changes, options) => panic!("{ended:?}"),
        said = tokio::time::timeout(Duration::from_mins(1), said) => said.expect("something hangs"),
    };
    let busy = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"too many requests at once; try again"}}}}"#
        )
    };
    let done = |ids: std::ops::Range<u64>| {
        let answer = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        format!("[{}]", ids.map(answer).collect::<Vec<_>>().join(","))
    };
    let expected =
        [busy("null"), done(20..22), busy("5"), done(6..7), done(30..33), busy("null"), busy("5")];
    assert_eq!(said[1..], expected);
}
