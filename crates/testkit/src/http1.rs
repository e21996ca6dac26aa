//! Minimal HTTP/1.1 for load generators, client and server: kept connections, bodies with a length or in chunks.
//!
//! Used by the benchmarks and load tests of `cli`. It is cheap, and validates only the parts it needs.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The size of one read.
const CHUNK: usize = 64 * 1024;
/// Bodies up to this size are copied behind their head, so that one write sends both.
const SMALL: usize = 16 * 1024;

/// One connection.
#[derive(Debug)]
pub struct Http {
    stream: TcpStream,
    buffer: BytesMut,
    out: Vec<u8>,
}

/// A received message: a request or a response.
#[derive(Debug)]
pub struct Received {
    /// The first line and the headers.
    pub head: Bytes,
    /// The body, joined if it came in chunks.
    pub body: Bytes,
}

// === impl Http ===

impl Http {
    /// Wraps an open connection.
    pub fn new(stream: TcpStream) -> Result<Self> {
        // With Nagle's algorithm, an answer waits 40 ms for an acknowledgement.
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: BytesMut::with_capacity(CHUNK), out: Vec::new() })
    }

    /// Connects.
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        Self::new(TcpStream::connect(address).await?)
    }

    /// Whether the connection is open, as far as is known without waiting.
    pub fn is_open(&self) -> bool {
        let mut next = [0];
        !matches!(self.stream.peek(&mut next).now_or_never(), Some(Ok(0) | Err(_)))
    }

    /// Sends a message: its head up to the length of the body, and the body.
    pub async fn send(&mut self, head: &str, body: &[u8]) -> Result<()> {
        self.out.clear();
        self.out.extend_from_slice(head.as_bytes());
        self.out.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        if body.len() <= SMALL {
            self.out.extend_from_slice(body);
            return self.stream.write_all(&self.out).await;
        }
        self.stream.write_all(&self.out).await?;
        self.stream.write_all(body).await
    }

    /// Sends bytes that are a complete message.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Receives the next message; `None` at the end.
    pub async fn receive(&mut self) -> Result<Option<Received>> {
        let mut searched = 0;
        let end = loop {
            let from = usize::saturating_sub(searched, 3);
            if let Some(at) = memchr::memmem::find(&self.buffer[from..], b"\r\n\r\n") {
                break from + at + 4;
            }
            searched = self.buffer.len();
            if !self.more(CHUNK).await? {
                return if searched == 0 { Ok(None) } else { Err(cut()) };
            }
        };
        let head = self.buffer.split_to(end).freeze();
        let mut received = Received { head, body: Bytes::new() };
        if received.header("transfer-encoding").is_some_and(|how| how.contains("chunked")) {
            received.body = self.chunks().await?;
        } else if let Some(length) = received.header("content-length") {
            let length = length.parse().map_err(|_| Error::from(ErrorKind::InvalidData))?;
            received.body = self.exactly(length).await?;
        }
        Ok(Some(received))
    }

    async fn exactly(&mut self, length: usize) -> Result<Bytes> {
        while self.buffer.len() < length {
            let missing = length - self.buffer.len();
            if !self.more(missing).await? {
                return Err(cut());
            }
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn chunks(&mut self) -> Result<Bytes> {
        let mut whole = BytesMut::new();
        loop {
            let line = loop {
                if let Some(at) = memchr::memchr(b'\n', &self.buffer) {
                    break self.buffer.split_to(at + 1);
                }
                if !self.more(CHUNK).await? {
                    return Err(cut());
                }
            };
            let text = std::str::from_utf8(&line).unwrap_or_default().trim();
            let size = usize::from_str_radix(text, 16);
            let size = size.map_err(|_| Error::from(ErrorKind::InvalidData))?;
            let chunk = self.exactly(size + 2).await?;
            if size == 0 {
                return Ok(whole.freeze());
            }
            whole.extend_from_slice(&chunk[..size]);
        }
    }

    async fn more(&mut self, room: usize) -> Result<bool> {
        self.buffer.reserve(room.max(CHUNK));
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }
}

fn cut() -> Error {
    Error::from(ErrorKind::UnexpectedEof)
}

// === impl Received ===

impl Received {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.head).ok()?;
        head.split("\r\n").skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The status of a response.
    pub fn status(&self) -> u16 {
        let head = std::str::from_utf8(&self.head).unwrap_or_default();
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }
}
