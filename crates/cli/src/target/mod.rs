//! Connection targets from a command line: a process under a guard, or a remote URL.
//!
//! Used by `commands::probe`. Servers of the configuration are connected by the engine instead.

mod typed;

use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use switchboard_process::{ProcessCommand, ProcessGuard, StderrOptions};
use switchboard_wire::{
    client::{HttpTarget, ServerTarget, StdioTarget},
    http::{CredentialProvider, EndpointOptions, HttpPool, HttpPoolOptions},
    ws::WsOptions,
};
use url::Url;

pub(crate) use typed::{NamedTarget, resolve};

use crate::args::Transport;
use crate::report::Failure;

/// A server process, always under a guard.
fn stdio(command: ProcessCommand) -> Result<ServerTarget, Failure> {
    let guard = ProcessGuard::this_program()
        .map_err(|error| Failure::new("cannot open this program to guard the server", error))?;
    Ok(ServerTarget::Stdio(StdioTarget { command, guard, stderr: StderrOptions::default() }))
}

fn remote(
    transport: Transport,
    url: Url,
    headers: HeaderMap,
    credentials: Arc<dyn CredentialProvider>,
) -> Result<ServerTarget, Failure> {
    let pool = pool()?;
    if transport == Transport::Ws {
        let options = Box::new(WsOptions { headers, credentials, ..WsOptions::default() });
        return Ok(ServerTarget::WebSocket { url, pool, options });
    }
    let options = EndpointOptions { headers, credentials, ..EndpointOptions::default() };
    let target = HttpTarget { url, pool, options };
    Ok(match transport {
        Transport::Sse => ServerTarget::Sse(target),
        _ => ServerTarget::Http(target),
    })
}

/// The shared HTTP pool: loading its certificates takes a moment.
fn pool() -> Result<HttpPool, Failure> {
    static POOL: OnceLock<HttpPool> = OnceLock::new();
    if let Some(pool) = POOL.get() {
        return Ok(pool.clone());
    }
    let pool = HttpPool::new(&HttpPoolOptions::default())
        .map_err(|error| Failure::new("cannot set up HTTP", error))?;
    Ok(POOL.get_or_init(|| pool).clone())
}
