//! Raw HTTP and WebSocket, for requests that no well-behaved client sends.

use std::{fmt::Write as _, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

use super::{Served, soon};

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let is =
            |line: &&str| line.split(':').next().unwrap_or_default().eq_ignore_ascii_case(name);
        let line = self.head.lines().find(is)?;
        Some(line.split_once(':')?.1.trim())
    }

    /// The code of the JSON-RPC error in the body; `None` for a result.
    pub(crate) fn code(&self) -> Option<i64> {
        let body: serde_json::Value = serde_json::from_str(&self.body).ok()?;
        body["error"]["code"].as_i64()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }
}

/// Usual headers of a message.
pub(crate) const USUAL: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

pub(crate) async fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Reply {
    send(address, "GET", path, headers, "").await
}

pub(crate) async fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let headers: Vec<_> = USUAL.iter().chain(headers).copied().collect();
    send(address, "POST", path, &headers, body).await
}

/// Sends a request on a new connection and reads the response. A `host` header replaces the usual one.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut stream = begin(address, method, path, headers, body).await;
    let mut text = Vec::new();
    soon(stream.read_to_end(&mut text)).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunk(body) } else { body.to_owned() };
    Reply { status, head: head.to_owned(), body }
}

/// Sends a request; the caller reads the response.
pub(crate) async fn begin(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> TcpStream {
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        write!(text, "host: {address}\r\n").unwrap();
    }
    // Later headers replace earlier ones with an equal name.
    for (at, (name, value)) in headers.iter().enumerate() {
        if !headers[at + 1..].iter().any(|(later, _)| later == name) && *value != "-" {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
    }
    write!(text, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut stream = soon(TcpStream::connect(address)).await.unwrap();
    // A server that refuses a large body may stop reading it.
    let _ = stream.write_all(text.as_bytes()).await;
    stream
}

/// Reads until `needle` has arrived. Returns everything read.
pub(crate) async fn read_until(stream: &mut TcpStream, needle: &str) -> String {
    let mut text = String::new();
    let reading = async {
        let mut buffer = vec![0; 4096];
        while !text.contains(needle) {
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "it ended before {needle:?}: {text}");
            text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
    };
    soon(reading).await;
    text
}

fn unchunk(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&after[..size]);
        rest = &after[(size + 2).min(after.len())..];
        if size == 0 {
            break;
        }
    }
    body
}

/// Opens a legacy session.
pub(crate) async fn begin_session(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> String {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}"#;
    let reply = post(address, path, headers, hello).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.header("mcp-session-id").unwrap().to_owned()
}

/// A request for a tool.
pub(crate) fn call(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}}}"#
    )
}

/// A WebSocket by hand.
pub(crate) struct WebSocket(WebSocketStream<TcpStream>);

impl WebSocket {
    /// Opens a session of the oldest version with batches.
    pub(crate) async fn greeted(served: &Served, headers: &[(&'static str, &str)]) -> Self {
        let mut request = format!("ws://{}/ws", served.address).into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let stream = soon(TcpStream::connect(served.address)).await.unwrap();
        let (stream, _) = soon(client_async(request, stream)).await.unwrap();
        let mut socket = Self(stream);
        socket.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}"#).await;
        assert!(socket.next().await.contains("protocolVersion"));
        socket
    }

    pub(crate) async fn send(&mut self, text: &str) {
        soon(self.0.send(Message::text(text))).await.unwrap();
    }

    /// Returns the next message.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            if let Message::Text(text) = soon(self.0.next()).await.unwrap().unwrap() {
                return text.to_string();
            }
        }
    }

    /// Whether the connection ends without another message.
    pub(crate) async fn ended(mut self) -> bool {
        !matches!(soon(self.0.next()).await, Some(Ok(Message::Text(_))))
    }
}
