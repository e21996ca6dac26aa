//! What to connect to.

use url::Url;

use crate::{
    http::{EndpointOptions, Pool},
    link::pair,
    process::{Command, Guard, StderrOptions},
    ws::WsOptions,
};

/// What to connect to, and how.
pub enum Target {
    /// A program that speaks on its standard streams.
    Stdio(Stdio),
    /// Streamable HTTP, with the fallback to HTTP+SSE.
    Http(HttpTarget),
    /// HTTP+SSE of 2024-11-05 and nothing else.
    Sse(HttpTarget),
    /// WebSocket, `ws` or `wss`.
    WebSocket {
        /// Where.
        url: Url,
        /// Proxies and certificates.
        pool: Pool,
        /// How.
        options: Box<WsOptions>,
    },
    /// A server in this process.
    InProcess(pair::End),
}

/// A program and its guard.
pub struct Stdio {
    /// What to run.
    pub command: Command,
    /// Who sees to it that nothing is left of it.
    pub guard: Guard,
    /// Where its standard error goes besides memory.
    pub stderr: StderrOptions,
}

/// A URL and the pool to reach it through.
pub struct HttpTarget {
    /// Where.
    pub url: Url,
    /// The shared connections.
    pub pool: Pool,
    /// Headers, credentials, deadlines.
    pub options: EndpointOptions,
}

// === impl Target ===

impl Target {
    /// A name under which to remember what was learnt of this target; without secrets.
    pub fn key(&self) -> String {
        match self {
            Self::Stdio(stdio) => {
                let mut key = format!("stdio {}", stdio.command.program.display());
                for arg in &stdio.command.args {
                    key.push(' ');
                    key.push_str(&arg.to_string_lossy());
                }
                key
            }
            Self::Http(target) | Self::Sse(target) => format!("http {}", origin(&target.url)),
            Self::WebSocket { url, .. } => format!("ws {}", origin(url)),
            Self::InProcess(_) => "in process".to_owned(),
        }
    }
}

/// Scheme, host, port and path: no user, no query.
fn origin(url: &Url) -> String {
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    format!(
        "{}://{}{port}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        url.path()
    )
}
