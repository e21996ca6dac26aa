//! `switchboard plugin serve` over Streamable HTTP, on connections that are kept.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::stdio::program;

/// The server, and its address.
pub(crate) struct Serving {
    child: Child,
    address: String,
    _home: tempfile::TempDir,
}

/// A connection with a session of its own.
pub(crate) struct Kept {
    stream: BufReader<TcpStream>,
    address: String,
    session: String,
}

// === impl Serving ===

impl Serving {
    pub(crate) fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = program(home.path())
            .args(["plugin", "serve", "--json", "-t", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&ready).unwrap();
        let address = ready["address"].as_str().unwrap().to_owned();
        Self { child, address, _home: home }
    }

    pub(crate) fn connect(&self) -> Kept {
        let mut kept = Kept::open(&self.address);
        kept.session = kept.post(super::GREETING).expect("a session");
        kept.post(&super::call(1));
        kept
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        self.child.wait().unwrap();
    }
}

// === impl Kept ===

impl Kept {
    /// Without a session as yet.
    pub(crate) fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let stream = BufReader::new(stream);
        Self { stream, address: address.to_owned(), session: String::new() }
    }

    /// The answer is read whole; the session that it names, if it names one.
    fn post(&mut self, body: &str) -> Option<String> {
        let (address, session, length) = (&self.address, &self.session, body.len());
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{session}Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut length, mut named) = (0, None);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if lower.starts_with("mcp-session-id:") {
                named = Some(line.clone());
            }
            if line == "\r\n" {
                break;
            }
        }
        assert!(length > 0, "an answer that is whole");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        named
    }

    pub(crate) fn one_by_one(&mut self, rounds: u32, request: fn(u32) -> String) -> Duration {
        let begun = Instant::now();
        for id in 1..=rounds {
            self.post(&request(id));
        }
        begun.elapsed()
    }
}

/// All at once, each one call after the other; `rounds` in all.
pub(crate) fn together(all: &mut [Kept], rounds: u32, request: fn(u32) -> String) -> Duration {
    let each = rounds / u32::try_from(all.len()).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for kept in all {
            scope.spawn(move || kept.one_by_one(each, request));
        }
    });
    begun.elapsed()
}
