//! A received request of the scripted server.
//!
//! Used by tests to check a client's requests.

use bytes::BytesMut;
use tokio::io::AsyncReadExt as _;

use super::io::Io;

/// One received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target as sent: a path, or a whole URL or authority for a proxy.
    pub path: String,
    /// Header names in lower case, with their values, in order.
    pub headers: Vec<(String, String)>,
    /// The body, without framing.
    pub body: Vec<u8>,
    /// The number of its connection, from 1.
    pub connection: usize,
}

impl Request {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or("(not UTF-8)")
    }

    /// Reads the next request; `None` if the client closed or sent no valid HTTP.
    pub(super) async fn read(
        stream: &mut Box<dyn Io>,
        buffer: &mut BytesMut,
        connection: usize,
    ) -> Option<Self> {
        let head = loop {
            if let Some(end) = find(buffer, b"\r\n\r\n") {
                break buffer.split_to(end + 4);
            }
            more(stream, buffer).await?;
        };
        let mut request = Self::parse(std::str::from_utf8(&head).ok()?, connection)?;
        request.body = if request.header("transfer-encoding").is_some() {
            chunked(stream, buffer).await?
        } else {
            let length = request.header("content-length").and_then(|text| text.parse().ok());
            exactly(stream, buffer, length.unwrap_or(0)).await?
        };
        Some(request)
    }

    fn parse(head: &str, connection: usize) -> Option<Self> {
        let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
        let mut words = lines.next()?.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Some(Self { method, path, headers, body: Vec::new(), connection })
    }
}

async fn more(stream: &mut Box<dyn Io>, buffer: &mut BytesMut) -> Option<()> {
    let read = stream.read_buf(buffer).await.ok()?;
    (read > 0).then_some(())
}

async fn exactly(
    stream: &mut Box<dyn Io>,
    buffer: &mut BytesMut,
    length: usize,
) -> Option<Vec<u8>> {
    while buffer.len() < length {
        more(stream, buffer).await?;
    }
    Some(buffer.split_to(length).to_vec())
}

async fn chunked(stream: &mut Box<dyn Io>, buffer: &mut BytesMut) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = loop {
            if let Some(end) = find(buffer, b"\r\n") {
                break buffer.split_to(end + 2);
            }
            more(stream, buffer).await?;
        };
        let size = usize::from_str_radix(std::str::from_utf8(&line).ok()?.trim(), 16).ok()?;
        let chunk = exactly(stream, buffer, size + 2).await?;
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return Some(body);
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
