//! A server in this process that follows a script: what becomes of each attempt to reach it, what its
//! lists are, what it says by itself.
//!
//! It speaks 2025-11-25 and knows nothing but the handshake, lists and calls that echo.

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

/// What becomes of one attempt.
#[derive(Debug, Clone)]
pub enum Part {
    /// It is served.
    Serves,
    /// It is served, for so long.
    ServesFor(Duration),
    /// Nothing is ever answered.
    Hangs,
    /// The link is closed at once.
    Dies,
    /// The greeting is refused with this code.
    Refuses(i64),
    /// There is not even a link.
    Fails(Error),
}

/// What a request is answered with.
#[derive(Debug, Clone)]
pub enum Said {
    /// This result.
    Result(String),
    /// This result, and then this text as it is.
    ResultThen(String, String),
    /// An error with this code.
    Error(i64),
    /// Nothing.
    Nothing,
}

/// The server.
#[derive(Debug)]
pub struct Scripted {
    script: Mutex<Script>,
    /// Said to every client as it is; an empty text cuts them off.
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
    /// Says that something was asked.
    changed: watch::Sender<()>,
}

// === impl Scripted ===

impl Scripted {
    /// A server whose attempts end like this; the last part is played from then on.
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

    /// What it says it offers.
    pub fn offer(&self, capabilities: &str) {
        capabilities.clone_into(&mut self.lock().capabilities);
    }

    /// What it answers to a method from now on.
    pub fn answer(&self, method: &str, said: Said) {
        self.lock().answers.insert(method.to_owned(), said);
    }

    /// Says a text to every client, as it is.
    pub fn say(&self, text: &str) {
        let _ = self.say.send(text.to_owned());
    }

    /// Cuts off every client.
    pub fn cut(&self) {
        self.say("");
    }

    /// When each attempt was made.
    pub fn attempts(&self) -> Vec<Instant> {
        self.lock().attempts.clone()
    }

    /// How often it was asked something.
    pub fn asked(&self, method: &str) -> usize {
        self.lock().asked.get(method).map_or(0, Vec::len)
    }

    /// Waits until it was asked something so often; with which parameters each time.
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

    /// How many clients it has, those that it never answers included.
    pub fn serving(&self) -> usize {
        self.lock().serving
    }

    /// The near end of a new link.
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

/// The next request; nothing once the client has closed.
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
    // A client that is gone is noticed by the reader.
    let _ = writer.send(text.into()).await;
}
