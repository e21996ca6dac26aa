//! A client that costs little: one kept connection, requests made ready beforehand, nothing decoded but what shows
//! that the answer is the right one.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use switchboard_testkit::http1::{Http, Received};

/// Where a gateway is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    /// Stands before the names of tools.
    pub(crate) prefix: &'static str,
}

/// The era a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A tool that says 64 bytes again.
    Echo,
    /// A tool that says a mebibyte.
    Large,
    /// The list of tools.
    List,
}

/// One client, with a session of its own where its era has them.
pub(crate) struct Client {
    http: Http,
    place: Place,
    era: Era,
    session: Option<String>,
    id: u64,
}

/// Ids are this long, so that a request changes nowhere else.
const FIRST_ID: u64 = 1_000_000_000;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

// === impl Client ===

impl Client {
    /// Connects, and greets where that is done.
    pub(crate) async fn open(place: &Place, era: Era) -> std::io::Result<Self> {
        let http = Http::connect(place.address).await?;
        let mut client = Self { http, place: place.clone(), era, session: None, id: FIRST_ID };
        if era == Era::Legacy {
            client.greet().await?;
        }
        Ok(client)
    }

    async fn greet(&mut self) -> std::io::Result<()> {
        const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        const GREETED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = self.post(HELLO.as_bytes(), "initialize").await?;
        if answer.status() != 200 {
            return Err(std::io::Error::other(format!("{:?}", answer.head)));
        }
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        self.post(GREETED.as_bytes(), "notifications/initialized").await.map(drop)
    }

    async fn post(&mut self, body: &[u8], method: &str) -> std::io::Result<Received> {
        let head = self.head(method, "");
        self.http.send(&head, body).await?;
        self.http.receive().await?.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    }

    fn head(&self, method: &str, name: &str) -> String {
        let Place { address, path, .. } = &self.place;
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n"
        );
        // Writing to a string does not fail.
        let _ = match (self.era, &self.session) {
            (Era::Legacy, None) => write!(head, "mcp-protocol-version: 2025-11-25\r\n"),
            (Era::Legacy, Some(session)) => {
                write!(head, "mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n")
            }
            (Era::Modern, _) => {
                write!(head, "mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n")
            }
        };
        if self.era == Era::Modern && !name.is_empty() {
            let _ = write!(head, "mcp-name: {name}\r\n");
        }
        head
    }

    /// The whole request, and where in it the id stands.
    fn request(&self, ask: Ask) -> (Vec<u8>, usize) {
        let meta = match self.era {
            Era::Legacy => String::new(),
            Era::Modern => format!(",{META}"),
        };
        let prefix = self.place.prefix;
        let text = "x".repeat(64);
        let (method, name, params) = match ask {
            Ask::Echo => {
                let name = format!("{prefix}echo");
                let params =
                    format!(r#"{{"name":"{name}","arguments":{{"text":"{text}"}}{meta}}}"#);
                ("tools/call", name, params)
            }
            Ask::Large => {
                let name = format!("{prefix}large");
                let params = format!(r#"{{"name":"{name}","arguments":{{}}{meta}}}"#);
                ("tools/call", name, params)
            }
            Ask::List => {
                let params = format!("{{{}}}", meta.trim_start_matches(','));
                ("tools/list", String::new(), params)
            }
        };
        let start = r#"{"jsonrpc":"2.0","id":"#;
        let body = format!(r#"{start}{FIRST_ID},"method":"{method}","params":{params}}}"#);
        let head = self.head(method, &name);
        let whole = format!("{head}content-length: {}\r\n\r\n", body.len());
        let at = whole.len() + start.len();
        ((whole + &body).into_bytes(), at)
    }

    /// Asks again and again until then, and tells how long each answer took.
    pub(crate) async fn repeat(&mut self, ask: Ask, until: Instant) -> Vec<Duration> {
        let (mut request, at) = self.request(ask);
        let mut seen = Vec::new();
        // While others had their turns it may have been closed; the session is still there.
        if !self.http.is_open()
            && let Ok(http) = Http::connect(self.place.address).await
        {
            self.http = http;
        }
        loop {
            let began = Instant::now();
            if began >= until {
                return seen;
            }
            // Whoever fails is slow: it shows in its figures, and the others are still measured.
            if let Err(error) = self.once(ask, &mut request, at).await {
                println!("{}: {error}", self.place.address);
                return seen;
            }
            seen.push(began.elapsed());
        }
    }

    /// Asks once.
    pub(crate) async fn ask(&mut self, ask: Ask) -> std::io::Result<usize> {
        let (mut request, at) = self.request(ask);
        self.once(ask, &mut request, at).await
    }

    async fn once(&mut self, ask: Ask, request: &mut [u8], at: usize) -> std::io::Result<usize> {
        self.id += 1;
        let id = self.id.to_string();
        request[at..at + id.len()].copy_from_slice(id.as_bytes());
        self.http.send_raw(request).await?;
        let answer = self.http.receive().await?;
        let answer =
            answer.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::UnexpectedEof))?;
        let body = &answer.body;
        let holds = |what: &[u8]| memchr::memmem::find(body, what).is_some();
        let right = match ask {
            Ask::Echo => holds(b"xxxxxxxx"),
            Ask::Large => body.len() > 1 << 20,
            Ask::List => holds(b"inputSchema"),
        };
        // The id stands at the start or at the end; a large body is not searched for it.
        let right = right && (ask == Ask::Large || holds(id.as_bytes()));
        if answer.status() == 200 && right {
            return Ok(body.len());
        }
        let shown = String::from_utf8_lossy(&body[..body.len().min(500)]).into_owned();
        Err(std::io::Error::other(format!("{ask:?}: {:?} {shown}", answer.head)))
    }
}
