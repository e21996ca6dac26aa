//! What to connect to, from a command line. Servers of the configuration are the engine's.

mod typed;

use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use switchboard_process::{Command, Guard, StderrOptions};
use switchboard_wire::{
    client::{HttpTarget, Stdio, Target},
    http::{Credentials, EndpointOptions, Pool, PoolOptions},
    ws::WsOptions,
};
use url::Url;

pub(crate) use typed::{Named, resolve};

use crate::args::Transport;
use crate::report::Failure;

/// A process, always under a guard.
fn stdio(command: Command) -> Result<Target, Failure> {
    let guard = Guard::this_program()
        .map_err(|error| Failure::new("cannot open this program to guard the server", error))?;
    Ok(Target::Stdio(Stdio { command, guard, stderr: StderrOptions::default() }))
}

fn remote(
    transport: Transport,
    url: Url,
    headers: HeaderMap,
    credentials: Arc<dyn Credentials>,
) -> Result<Target, Failure> {
    let pool = pool()?;
    if transport == Transport::Ws {
        let options = Box::new(WsOptions { headers, credentials, ..WsOptions::default() });
        return Ok(Target::WebSocket { url, pool, options });
    }
    let options = EndpointOptions { headers, credentials, ..EndpointOptions::default() };
    let target = HttpTarget { url, pool, options };
    Ok(match transport {
        Transport::Sse => Target::Sse(target),
        _ => Target::Http(target),
    })
}

/// One pool for all: its certificates take a moment to load.
fn pool() -> Result<Pool, Failure> {
    static POOL: OnceLock<Pool> = OnceLock::new();
    if let Some(pool) = POOL.get() {
        return Ok(pool.clone());
    }
    let pool = Pool::new(&PoolOptions::default())
        .map_err(|error| Failure::new("cannot set up HTTP", error))?;
    Ok(POOL.get_or_init(|| pool).clone())
}
