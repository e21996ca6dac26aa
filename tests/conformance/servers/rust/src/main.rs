//! The tools, prompts and resources that the official conformance suite looks for, on the Rust SDK (`rmcp`), which speaks
//! both eras. Written as the examples of that SDK are: the macros for tools; for legacy clients the back channel of the
//! session (`context.peer`), for modern ones `InputRequiredResult`.
//!
//! `conformance-server-rmcp http|stdio`: over HTTP it prints `listening http://127.0.0.1:PORT/mcp` on stderr.
#![allow(
    deprecated,
    reason = "logging, sampling and roots are deprecated, and the suite asks for them"
)]

mod content;
mod handler;
mod legacy;
mod modern;
mod tasks;
mod tools;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use handler::ConformanceServer;

const SSE_RETRY: Duration = Duration::from_millis(500);

#[tokio::main]
async fn main() -> ExitCode {
    let served = match std::env::args().nth(1).as_deref() {
        Some("http") => serve_http().await,
        Some("stdio") => serve_stdio().await,
        _ => Err("usage: conformance-server-rmcp http|stdio".into()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve_stdio() -> Result<(), Box<dyn Error>> {
    let stdio = (tokio::io::stdin(), tokio::io::stdout());
    ConformanceServer::new().serve(stdio).await?.waiting().await?;
    Ok(())
}

async fn serve_http() -> Result<(), Box<dyn Error>> {
    let server = ConformanceServer::new();
    let mut session_config = SessionConfig::default();
    session_config.sse_retry = Some(SSE_RETRY);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config = session_config;
    let config = StreamableHttpServerConfig::default().with_sse_retry(Some(SSE_RETRY));
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions.into(), config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
