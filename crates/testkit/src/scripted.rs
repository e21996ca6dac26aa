//! A scripted server in this process: the outcome of each connection attempt, its lists, and its
//! own messages.
//!
//! Used by tests of `core`. It speaks 2025-11-25 and supports only the handshake, lists and calls
//! that echo.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)] // it serves tests, which it may fail

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use switchboard_wire::{
    Error,
    envelope::{Id, MessageOrBatch, Request, RpcMessage, parse},
    link::{
        LinkFrame, LinkReader, LinkWriter,
        pair::{LinkEnd, link_pair},
    },
};
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, sleep_until},
};

/// The outcome of one connection attempt.
#[derive(Debug, Clone)]
pub enum Part {
    /// The connection is served.
    Serves,
    /// The connection is served for this long.
    ServesFor(Duration),
    /// No request is answered.
    Hangs,
    /// The link is closed at once.
    Dies,
    /// `initialize` is refused with this code.
    Refuses(i64),
    /// No link is opened.
    Fails(Error),
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub enum Said {
    /// This result.
    Result(String),
    /// This result, and then this text, unchanged.
    ResultThen(String, String),
    /// An error with this code.
    Error(i64),
    /// No answer.
    Nothing,
}

/// The server.
#[derive(Debug)]
pub struct Scripted {
    script: Mutex<Script>,
    /// Texts for every client, unchanged; an empty text disconnects them.
    say: broadcast::Sender<String>,
}

#[derive(Debug)]
struct Script {
    parts: VecDeque<Part>,
    capabilities: String,
    answers: HashMap<String, Said>,
    attempts: Vec<Instant>,
    asked: HashMap<String, Vec<String>>,
    serving: usize,
    /// Notified of every request.
    changed: watch::Sender<()>,
}

// === impl Scripted ===

impl Scripted {
    /// A server with these outcomes of attempts; the last one repeats.
    pub fn new(parts: impl IntoIterator<Item = Part>) -> Arc<Self> {
        let script = Script {
            parts: parts.into_iter().collect(),
            capabilities: r#"{"tools":{"listChanged":true}}"#.into(),
            answers: HashMap::new(),
            attempts: Vec::new(),
            asked: HashMap::new(),
            serving: 0,
            changed: watch::Sender::default(),
        };
        Arc::new(Self { script: Mutex::new(script), say: broadcast::channel(64).0 })
    }

    /// Sets its capabilities.
    pub fn offer(&self, capabilities: &str) {
        capabilities.clone_into(&mut self.lock().capabilities);
    }

    /// Sets the answer to a method.
    pub fn answer(&self, method: &str, said: Said) {
        self.lock().answers.insert(method.to_owned(), said);
    }

    /// Sends a text to every client, unchanged.
    pub fn say(&self, text: &str) {
        let _ = self.say.send(text.to_owned());
    }

    /// Disconnects every client.
    pub fn cut(&self) {
        self.say("");
    }

    /// The time of each attempt.
    pub fn attempts(&self) -> Vec<Instant> {
        self.lock().attempts.clone()
    }

    /// The number of requests with this method.
    pub fn asked(&self, method: &str) -> usize {
        self.lock().asked.get(method).map_or(0, Vec::len)
    }

    /// Waits for `times` requests with this method. Returns their parameters.
    pub async fn asked_times(&self, method: &str, times: usize) -> Vec<String> {
        let mut changes = self.lock().changed.subscribe();
        loop {
            let asked = self.lock().asked.get(method).cloned().unwrap_or_default();
            if asked.len() >= times {
                return asked;
            }
            changes.changed().await.unwrap();
        }
    }

    /// The number of clients, including those that get no answer.
    pub fn serving(&self) -> usize {
        self.lock().serving
    }

    /// Opens a new link and returns the client's end.
    pub fn open(self: &Arc<Self>) -> Result<LinkEnd, Error> {
        let part = self.lock().next_part();
        let (near, far) = link_pair();
        match part {
            Part::Fails(error) => return Err(error),
            Part::Dies => {}
            part => {
                self.lock().serving += 1;
                let server = self.clone();
                let saying = self.say.subscribe();
                tokio::spawn(async move {
                    server.play(&part, far, saying).await;
                    server.lock().serving -= 1;
                });
            }
        }
        Ok(near)
    }

    async fn play(
        &self,
        part: &Part,
        (writer, mut reader): LinkEnd,
        mut saying: broadcast::Receiver<String>,
    ) {
        let end = match part {
            Part::ServesFor(time) => Some(Instant::now() + *time),
            _ => None,
        };
        let ending = async {
            match end {
                Some(end) => sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(ending);
        loop {
            tokio::select! {
                () = &mut ending => return,
                Ok(text) = saying.recv() => match text.as_str() {
                    "" => return,
                    _ => send(&writer, text).await,
                },
                request = next(&mut reader) => match request {
                    None => return,
                    Some(request) => self.reply(part, &writer, &request).await,
                },
            }
        }
    }

    async fn reply(&self, part: &Part, writer: &LinkWriter, request: &Request) {
        let said = match part {
            Part::Hangs => Said::Nothing,
            Part::Refuses(code) => Said::Error(*code),
            _ => self.lock().reply(request),
        };
        let id = request.id();
        match said {
            Said::Nothing => {}
            Said::Result(result) => send(writer, answer(&id, &result)).await,
            Said::ResultThen(result, then) => {
                send(writer, answer(&id, &result)).await;
                send(writer, then).await;
            }
            Said::Error(code) => {
                let error = format!(r#"{{"code":{code},"message":"as scripted"}}"#);
                send(writer, format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)).await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }
}

// === impl Script ===

impl Script {
    fn next_part(&mut self) -> Part {
        self.attempts.push(Instant::now());
        match self.parts.len() {
            0 => Part::Serves,
            1 => self.parts[0].clone(),
            _ => self.parts.pop_front().unwrap(),
        }
    }

    fn reply(&mut self, request: &Request) -> Said {
        let method = request.method();
        let params = request.params().map(|params| params.as_str().to_owned());
        self.asked.entry(method.to_string()).or_default().push(params.unwrap_or_default());
        self.changed.send_replace(());
        if let Some(said) = self.answers.get(&*method) {
            return said.clone();
        }
        let result = match &*method {
            "initialize" => format!(
                r#"{{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{{"name":"scripted","version":"1"}}}}"#,
                self.capabilities
            ),
            "tools/list" => r#"{"tools":[{"name":"echo"}]}"#.into(),
            "tools/call" => r#"{"content":[]}"#.into(),
            _ => return Said::Error(-32601),
        };
        Said::Result(result)
    }
}

/// Returns the next request; `None` once the client has closed.
async fn next(reader: &mut LinkReader) -> Option<Request> {
    loop {
        let Some(LinkFrame::Text(text)) = reader.next().await.ok()? else { return None };
        if let Ok(MessageOrBatch::One(RpcMessage::Request(request))) = parse(text) {
            return Some(request);
        }
    }
}

fn answer(id: &Id, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

async fn send(writer: &LinkWriter, text: String) {
    // The reader notices a client that is gone.
    let _ = writer.send(text.into()).await;
}
