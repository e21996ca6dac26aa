//! Test helper: one of many clients, which calls, checks that each result is its own, and sometimes misbehaves. Used by
//! `load`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use switchboard_testkit::http1::{Http, Received};
use tokio::sync::Semaphore;

use super::Seen;
use super::dice::Dice;

pub(super) struct Client {
    address: SocketAddr,
    number: usize,
    /// Who may ask something now.
    turns: Arc<Semaphore>,
    dice: Dice,
    http: Option<Http>,
    session: String,
    id: u64,
    seen: Seen,
}

/// What a client sends that is no request, and the status that says so.
const MALFORMED: [(&[u8], u16); 6] = [
    (b"{", 400),
    (b"not JSON at all", 400),
    (b"\xff\xfe\"", 400),
    (br#"{"jsonrpc":"2.0","id":1}"#, 400),
    (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400),
    (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, 400),
];

/// What is no HTTP.
const NOISE: &[u8] = b"\x16\x03\x01\x00 hello?\r\n\r\n";

// === impl Client ===

impl Client {
    pub(super) fn new(address: SocketAddr, number: usize, turns: Arc<Semaphore>) -> Self {
        Self {
            address,
            number,
            turns,
            dice: Dice::of(number),
            http: None,
            session: String::new(),
            id: 0,
            seen: Seen::default(),
        }
    }

    pub(super) async fn run(mut self, until: Instant) -> Seen {
        let turns = Arc::clone(&self.turns);
        let mut greeted = false;
        loop {
            let _turn = turns.acquire().await.unwrap();
            let done = if greeted { self.act().await } else { self.greet().await };
            if let Err(error) = done {
                self.seen.wrong.push(format!("client {}: {error}", self.number));
                return self.seen;
            }
            if greeted && Instant::now() >= until {
                break;
            }
            greeted = true;
        }
        if let Err(error) = self.leave().await {
            self.seen.wrong.push(format!("client {} leaves: {error}", self.number));
        }
        self.seen
    }

    /// Mostly a call.
    async fn act(&mut self) -> io::Result<()> {
        match self.dice.throw(100) {
            0..80 => self.call().await,
            80..85 => self.hang_up().await,
            85..88 => self.break_off().await,
            88..90 => self.make_noise().await,
            90..97 => self.send_malformed().await,
            _ => {
                self.leave().await?;
                self.greet().await
            }
        }
    }

    async fn greet(&mut self) -> io::Result<()> {
        self.session.clear();
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "load", "version": "1" } });
        let body = self.request("initialize", &params);
        let answer = self.post(body.as_bytes()).await?;
        expect(&answer, 200)?;
        let session = answer.header("mcp-session-id");
        session.ok_or_else(|| wrong("no session", &answer))?.clone_into(&mut self.session);
        let greeted = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        expect(&self.post(greeted).await?, 202)?;
        self.seen.sessions += 1;
        self.call().await
    }

    /// The answer must be this client's, and to this call.
    async fn call(&mut self) -> io::Result<()> {
        let nonce = self.nonce();
        let body = self.tool(&nonce);
        let answer = self.post(body.as_bytes()).await?;
        expect(&answer, 200)?;
        let said: Value = serde_json::from_slice(&answer.body)?;
        let text = &said["result"]["content"][0]["text"];
        if said["id"] != self.id || *text != nonce.as_str() {
            return Err(wrong(&format!("{nonce} was asked"), &answer));
        }
        self.seen.calls += 1;
        Ok(())
    }

    /// Asks, and does not wait for the answer. The session goes on.
    async fn hang_up(&mut self) -> io::Result<()> {
        let body = self.tool(&self.nonce());
        let head = self.head();
        self.http().await?.send(&head, body.as_bytes()).await?;
        self.gone();
        self.call().await
    }

    /// Goes away in the middle of a request.
    async fn break_off(&mut self) -> io::Result<()> {
        let body = self.tool(&self.nonce());
        let whole = format!("{}content-length: {}\r\n\r\n{body}", self.head(), body.len());
        let length = 1 + self.dice.throw(whole.len() as u64 - 1);
        let part = &whole.as_bytes()[..usize::try_from(length).unwrap()];
        self.http().await?.send_raw(part).await?;
        self.gone();
        self.call().await
    }

    /// Sends what is no HTTP, on a connection that is then of no more use.
    async fn make_noise(&mut self) -> io::Result<()> {
        self.gone();
        self.http().await?.send_raw(NOISE).await?;
        if let Some(answer) = self.http().await?.receive().await? {
            expect(&answer, 400)?;
        }
        self.gone();
        self.seen.malformed += 1;
        self.call().await
    }

    /// Sends a body that is no message; the connection and the session go on.
    async fn send_malformed(&mut self) -> io::Result<()> {
        let which = self.dice.throw(MALFORMED.len() as u64);
        let (body, status) = MALFORMED[usize::try_from(which).unwrap()];
        let answer = self.post(body).await?;
        expect(&answer, status)?;
        let said: Value = serde_json::from_slice(&answer.body)?;
        if !said["error"]["code"].is_i64() {
            return Err(wrong("no error", &answer));
        }
        self.seen.malformed += 1;
        self.call().await
    }

    async fn leave(&mut self) -> io::Result<()> {
        let head = self.head().replacen("POST", "DELETE", 1);
        self.http().await?.send(&head, &[]).await?;
        let answer = self.answer().await?;
        expect(&answer, 200)?;
        self.http = None;
        Ok(())
    }

    // --- the connection

    fn gone(&mut self) {
        self.http = None;
        self.seen.disconnects += 1;
    }

    async fn http(&mut self) -> io::Result<&mut Http> {
        let http = match self.http.take() {
            Some(http) => http,
            None => Http::connect(self.address).await?,
        };
        Ok(self.http.insert(http))
    }

    async fn post(&mut self, body: &[u8]) -> io::Result<Received> {
        let head = self.head();
        self.http().await?.send(&head, body).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> io::Result<Received> {
        let answer = self.http().await?.receive().await?;
        answer.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn head(&self) -> String {
        let (address, session) = (self.address, &self.session);
        let session = if session.is_empty() {
            String::new()
        } else {
            format!("mcp-session-id: {session}\r\n")
        };
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json\r\n{session}"
        )
    }

    // --- messages

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.id += 1;
        json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }).to_string()
    }

    fn tool(&mut self, text: &str) -> String {
        self.request("tools/call", &json!({ "name": "one__echo", "arguments": { "text": text } }))
    }

    /// What nobody else says, and this client once.
    fn nonce(&self) -> String {
        format!("client {} call {} of {}", self.number, self.id, self.session)
    }
}

fn expect(answer: &Received, status: u16) -> io::Result<()> {
    if answer.status() == status {
        Ok(())
    } else {
        Err(wrong(&format!("{status} expected"), answer))
    }
}

fn wrong(what: &str, answer: &Received) -> io::Error {
    let body = String::from_utf8_lossy(&answer.body);
    io::Error::other(format!("{what}: {} {body}", answer.status()))
}
