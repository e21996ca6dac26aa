//! [`AppsListener`]: the loopback port that serves the frames of apps and nothing else.
//!
//! Used by `loopback`, one for each console. Requests are checked for `Host` and `Origin` as on the other listeners. It
//! does not decide which frames there are (`frames` does).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use switchboard_gateway::face::{self, FaceError, FaceOptions};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::frames::{AppFrames, FramePlace};
use crate::{AppsOptions, AppsOrigin};

/// How many free ports are tried until one is free under both addresses of this machine.
const MAX_PORT_ATTEMPTS: usize = 16;

/// The bound listener of one console's frames.
#[derive(Debug)]
pub(in crate::admin) struct AppsListener {
    /// One for each address of this machine that `localhost` may mean.
    listeners: Vec<TcpListener>,
    frames: AppFrames,
    hosts: Vec<String>,
}

// === impl AppsListener ===

impl AppsListener {
    /// Binds the listener; its frames are those of one console.
    pub(in crate::admin) async fn bind(options: &AppsOptions) -> io::Result<Self> {
        let (listeners, port) = match options.listen {
            Some(address) if !address.ip().is_loopback() => {
                let text = format!("`{address}` is not an address of this machine alone");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            Some(address) if address.port() != 0 => {
                (bind_both(address.port()).await?, address.port())
            }
            _ => bind_free().await?,
        };
        let hosts = options.origin.iter().map(AppsOrigin::host).collect();
        let frames = AppFrames::new(FramePlace::Port { port, origin: options.origin.clone() });
        Ok(Self { listeners, frames, hosts })
    }

    /// The frames that it serves.
    pub(in crate::admin) fn frames(&self) -> AppFrames {
        self.frames.clone()
    }

    /// Serves until `stop`.
    pub(in crate::admin) async fn serve(self, stop: CancellationToken) -> Result<(), FaceError> {
        let Self { listeners, frames, hosts } = self;
        let serving = listeners.into_iter().map(|listener| {
            let (beside, hosts) = (frames.routes(), hosts.clone());
            let options = FaceOptions { beside, hosts, ..FaceOptions::local() };
            face::serve_beside(listener, options, stop.clone())
        });
        futures_util::future::try_join_all(serving).await.map(drop)
    }
}

/// Binds a port that is free under both addresses of this machine.
async fn bind_free() -> io::Result<(Vec<TcpListener>, u16)> {
    let mut failure = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..MAX_PORT_ATTEMPTS {
        let first = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let port = first.local_addr()?.port();
        match bind_second(port).await {
            Ok(second) => return Ok((std::iter::once(first).chain(second).collect(), port)),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Binds `port` under both addresses of this machine. Browsers try either for `localhost`, and another program at one of
/// them would get the frames.
async fn bind_both(port: u16) -> io::Result<Vec<TcpListener>> {
    let first = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    Ok(std::iter::once(first).chain(bind_second(port).await?).collect())
}

/// Binds `port` under the IPv6 address; `None` where the machine has no IPv6.
async fn bind_second(port: u16) -> io::Result<Option<TcpListener>> {
    let address = SocketAddr::from((IpAddr::from(Ipv6Addr::LOCALHOST), port));
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok(None),
    }
}
