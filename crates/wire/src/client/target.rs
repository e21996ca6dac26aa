//! Connection targets: a program, a URL, or a server in this process, with the options to reach it.
//!
//! Used by `connect`; built by `core::connection::target` and `cli::target` from configuration. It
//! opens no connection.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use url::Url;

use crate::{
    http::{EndpointOptions, HttpPool},
    link::pair,
    ws::WsOptions,
};
use switchboard_process::{ProcessCommand, ProcessGuard, StderrOptions};

/// A server to connect to, and the transport to use.
pub enum ServerTarget {
    /// A program that speaks MCP on its standard streams.
    Stdio(StdioTarget),
    /// Streamable HTTP, with the fallback to HTTP+SSE.
    Http(HttpTarget),
    /// HTTP+SSE of 2024-11-05 only.
    Sse(HttpTarget),
    /// WebSocket, `ws` or `wss`.
    WebSocket {
        /// The URL.
        url: Url,
        /// The pool, with proxies and certificates.
        pool: HttpPool,
        /// Headers, credentials and limits.
        options: Box<WsOptions>,
    },
    /// A server in this process.
    InProcess(pair::LinkEnd),
}

/// A program and its guard.
pub struct StdioTarget {
    /// The command to run.
    pub command: ProcessCommand,
    /// The guard that ends the process together with its descendants.
    pub guard: ProcessGuard,
    /// The log file for its standard error, besides the lines kept in memory.
    pub stderr: StderrOptions,
}

/// A URL and the pool to reach it through.
pub struct HttpTarget {
    /// The URL.
    pub url: Url,
    /// The pool of shared connections.
    pub pool: HttpPool,
    /// Headers, credentials, deadlines.
    pub options: EndpointOptions,
}

// === impl ServerTarget ===

impl ServerTarget {
    /// A key for facts about this target. It is a digest, since a command line may hold secrets and
    /// the facts may be written to disk.
    pub fn key(&self) -> String {
        let mut digest = Sha256::new();
        match self {
            Self::Stdio(stdio) => {
                digest.update(b"stdio\0");
                digest.update(stdio.command.program.as_encoded_bytes());
                for arg in &stdio.command.args {
                    digest.update([0]);
                    digest.update(arg.as_encoded_bytes());
                }
            }
            Self::Http(target) => digest.update(format!("http\0{}", place(&target.url))),
            Self::Sse(target) => digest.update(format!("sse\0{}", place(&target.url))),
            Self::WebSocket { url, .. } => digest.update(format!("ws\0{}", place(url))),
            Self::InProcess(_) => digest.update("in process"),
        }
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }
}

/// Scheme, host, port and path, without user and query.
fn place(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}
