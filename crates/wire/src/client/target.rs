//! What to connect to.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use url::Url;

use crate::{
    http::{EndpointOptions, HttpPool},
    link::pair,
    ws::WsOptions,
};
use switchboard_process::{ProcessCommand, ProcessGuard, StderrOptions};

/// What to connect to, and how.
pub enum ServerTarget {
    /// A program that speaks on its standard streams.
    Stdio(StdioTarget),
    /// Streamable HTTP, with the fallback to HTTP+SSE.
    Http(HttpTarget),
    /// HTTP+SSE of 2024-11-05 and nothing else.
    Sse(HttpTarget),
    /// WebSocket, `ws` or `wss`.
    WebSocket {
        /// Where.
        url: Url,
        /// Proxies and certificates.
        pool: HttpPool,
        /// How.
        options: Box<WsOptions>,
    },
    /// A server in this process.
    InProcess(pair::LinkEnd),
}

/// A program and its guard.
pub struct StdioTarget {
    /// What to run.
    pub command: ProcessCommand,
    /// Who sees to it that nothing is left of it.
    pub guard: ProcessGuard,
    /// Where its standard error goes besides memory.
    pub stderr: StderrOptions,
}

/// A URL and the pool to reach it through.
pub struct HttpTarget {
    /// Where.
    pub url: Url,
    /// The shared connections.
    pub pool: HttpPool,
    /// Headers, credentials, deadlines.
    pub options: EndpointOptions,
}

// === impl Target ===

impl ServerTarget {
    /// A name under which to remember what was learnt of this target. A digest, since a command
    /// line may hold secrets and what is remembered may be written to disk.
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

/// Scheme, host, port and path: no user, no query.
fn place(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}
