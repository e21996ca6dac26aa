//! A legacy session: which stream each message leaves on, and the events of each stream.
//!
//! Used by `streamable`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use switchboard_wire::{
    envelope::{MessageOrBatch, Request, RpcMessage, parse},
    link::{LinkWriter, pair::link_pair},
    meta::{self, method},
};
use tokio::sync::mpsc;

use super::super::{Feed, data, next_text};
use crate::{fixture::Fixture, http::Reply};

/// The number of the GET stream.
const OWN: usize = 0;

pub(super) struct Session {
    writer: LinkWriter,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    all: HashMap<usize, Stream>,
    /// Running requests: id, progress token, stream.
    calls: Vec<(String, Option<String>, usize)>,
}

/// All events of a stream, and its current reader.
#[derive(Default)]
struct Stream {
    sent: Vec<String>,
    reader: Option<Feed>,
    over: bool,
}

// === impl Session ===

impl Session {
    pub(super) fn start(fixture: Arc<Fixture>) -> Arc<Self> {
        let ((writer, mut reader), far) = link_pair();
        let session = Arc::new(Self { writer, streams: Mutex::default() });
        tokio::spawn(async move { fixture.serve(far).await });
        let routing = Arc::downgrade(&session);
        tokio::spawn(async move {
            while let (Some(text), Some(session)) =
                (next_text(&mut reader).await, routing.upgrade())
            {
                session.streams.lock().unwrap().route(&text);
            }
        });
        session
    }

    /// Takes a message. A request is answered with its own stream.
    pub(super) async fn post(&self, text: &str, request: Option<&Request>) -> Reply {
        let reply = match request {
            Some(request) => self.streams.lock().unwrap().open(request),
            None => Reply::empty(202),
        };
        let _ = self.writer.send(text.to_owned().into()).await;
        reply
    }

    /// Opens the GET stream, or resumes a stream after an event.
    pub(super) fn listen(&self, last: Option<&str>) -> Reply {
        let (stream, after) = last
            .and_then(|id| id.split_once('-'))
            .and_then(|(stream, event)| Some((stream.parse().ok()?, event.parse().ok()?)))
            .map_or((OWN, 0), |(stream, event): (usize, usize)| (stream, event + 1));
        self.streams.lock().unwrap().read(stream, after)
    }

    pub(super) fn cut(&self) {
        for stream in self.streams.lock().unwrap().all.values_mut() {
            stream.reader = None;
        }
    }
}

// === impl Streams ===

impl Streams {
    fn open(&mut self, request: &Request) -> Reply {
        let stream = self.all.len().max(1);
        self.all.entry(OWN).or_default();
        let token = request.params().and_then(|params| {
            let path = ["_meta", meta::PROGRESS_TOKEN];
            params.get_path(&path).ok().flatten()
        });
        let token = token.map(|token| token.to_string());
        self.calls.push((request.id().to_string(), token, stream));
        // An event without data: from here on the stream can be resumed.
        self.push(stream, "");
        self.read(stream, 0)
    }

    fn read(&mut self, stream: usize, after: usize) -> Reply {
        let (feed, pieces) = mpsc::unbounded_channel();
        let from = self.all.entry(stream).or_default();
        for (number, text) in from.sent.iter().enumerate().skip(after) {
            let _ = feed.send(numbered(stream, number, text));
        }
        from.reader = (!from.over).then_some(feed);
        Reply::events().feed(pieces)
    }

    fn push(&mut self, stream: usize, text: &str) {
        let to = self.all.entry(stream).or_default();
        to.sent.push(text.to_owned());
        if let Some(reader) = &to.reader {
            let _ = reader.send(numbered(stream, to.sent.len() - 1, text));
        }
    }

    fn route(&mut self, text: &str) {
        let stream = match parse(text.to_owned().into()) {
            Ok(MessageOrBatch::One(RpcMessage::Response(response))) => {
                let id = response.id().map(|id| id.to_string()).unwrap_or_default();
                return self.finish(&id, text);
            }
            Ok(MessageOrBatch::One(RpcMessage::Request(_))) => self.sole(),
            Ok(MessageOrBatch::One(RpcMessage::Notification(note))) => match note.method().as_ref()
            {
                method::CANCELLED => self.sole(),
                method::PROGRESS => {
                    let token = note
                        .params()
                        .and_then(|params| params.get(meta::PROGRESS_TOKEN).ok().flatten());
                    self.of_token(token.map(|token| token.to_string()).as_deref())
                }
                _ => OWN,
            },
            _ => OWN,
        };
        self.push(stream, text);
    }

    fn finish(&mut self, id: &str, text: &str) {
        let Some(at) = self.calls.iter().position(|(known, ..)| known == id) else {
            return self.push(OWN, text);
        };
        let (.., stream) = self.calls.remove(at);
        self.push(stream, text);
        let done = self.all.entry(stream).or_default();
        done.over = true;
        done.reader = None;
    }

    /// The stream of the only running call; else the GET stream.
    fn sole(&self) -> usize {
        match self.calls.as_slice() {
            [(.., stream)] => *stream,
            _ => OWN,
        }
    }

    fn of_token(&self, token: Option<&str>) -> usize {
        let mut calls = self.calls.iter();
        let found = calls.find(|(_, known, _)| token.is_some() && known.as_deref() == token);
        found.map_or(OWN, |(.., stream)| *stream)
    }
}

fn numbered(stream: usize, number: usize, text: &str) -> Vec<u8> {
    format!("id: {stream}-{number}\nretry: 10\ndata: {}\n\n", data(text)).into_bytes()
}
