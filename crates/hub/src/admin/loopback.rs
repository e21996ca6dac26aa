//! The admin API and the console on a loopback port of this machine.
//!
//! Used by the hub command (port 7420, or a free one) and by `serve` (beside its faces). It does not check access
//! itself (`access` does).

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{AdminApi, AdminToken, AdminTokenError, access, routes};
use switchboard_gateway::face::{self, FaceError, FaceOptions};

/// The port that the documentation names.
pub const DEFAULT_ADMIN_PORT: u16 = 7420;

/// The current address of the API, and the token that makes it leave that address.
#[derive(Debug, Default)]
pub(super) struct AdminAddress(Mutex<Option<(SocketAddr, CancellationToken)>>);

/// Why the API is not served on a port.
#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    /// The token cannot be read or created.
    #[error(transparent)]
    Token(#[from] AdminTokenError),
    /// No port can be bound, or the system gave no randomness.
    #[error("cannot listen on this machine")]
    Listen(#[source] io::Error),
    /// The listener failed.
    #[error(transparent)]
    Face(#[from] FaceError),
}

/// The API and the console, to be served beside faces.
pub struct AdminRoutes {
    routes: Router,
    shown: ConsoleAddressLease,
    /// The suffix of the URL that lets one page in, once.
    pub invitation: String,
}

/// Console addresses beside faces, oldest first: people get the one that was announced first.
#[derive(Debug, Default)]
pub(super) struct ConsoleAddresses(Mutex<Vec<Arc<str>>>);

/// Keeps a console address announced while held.
#[derive(Debug)]
#[must_use = "dropped, the console is not there any more"]
pub struct ConsoleAddressLease {
    admin: AdminApi,
    url: Arc<str>,
}

// === impl AdminRoutes ===

impl AdminRoutes {
    /// Adds the routes to the options of faces; the returned lease is to be held while the faces are served.
    pub fn add_to_faces(self, options: FaceOptions) -> (FaceOptions, ConsoleAddressLease) {
        (FaceOptions { beside: self.routes, ..options }, self.shown)
    }
}

/// Without the invitation, which does not belong in logs.
impl fmt::Debug for AdminRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").finish_non_exhaustive()
    }
}

// === impl ConsoleAddresses ===

impl ConsoleAddresses {
    /// The address that was announced first.
    pub(super) fn first(&self) -> Option<Arc<str>> {
        self.lock().first().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ConsoleAddressLease ===

impl ConsoleAddressLease {
    fn at(admin: &AdminApi, url: &str) -> Self {
        let url = Arc::from(url);
        admin.0.places.lock().push(Arc::clone(&url));
        Self { admin: admin.clone(), url }
    }
}

impl Drop for ConsoleAddressLease {
    fn drop(&mut self) {
        self.admin.0.places.lock().retain(|url| !Arc::ptr_eq(url, &self.url));
    }
}

// === impl AdminAddress ===

impl AdminAddress {
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.lock().as_ref().map(|(address, _)| *address)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(SocketAddr, CancellationToken)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl AdminApi ===

impl AdminApi {
    /// Makes the API leave `wanted` for another port; `false` if the API is not there.
    pub fn leave_address(&self, wanted: SocketAddr) -> bool {
        match &*self.0.port.lock() {
            Some((address, leave)) if *address == wanted => {
                leave.cancel();
                true
            }
            _ => false,
        }
    }

    /// Serves the API on `port`, or on a free one, until `stop`. The token is stored in `state`.
    pub async fn serve(
        &self,
        port: u16,
        state: &Path,
        stop: &CancellationToken,
    ) -> Result<(), LoopbackError> {
        let routes = self.routes_with_access(state).await?;
        let mut port = port;
        while !stop.is_cancelled() {
            let listener = bind(port).await.map_err(LoopbackError::Listen)?;
            self.serve_at(listener, routes.clone(), stop.child_token()).await?;
            // `leave_address` freed the port for a face, so take any other.
            port = 0;
        }
        Ok(())
    }

    /// Routes to serve beside a face at `address`, with the console at `url`; `None` if the address is not a loopback
    /// one.
    pub async fn routes_for_address(
        &self,
        address: SocketAddr,
        url: &str,
        state: &Path,
    ) -> Result<Option<AdminRoutes>, LoopbackError> {
        if !address.ip().is_loopback() {
            return Ok(None);
        }
        let routes = self.routes_with_access(state).await?;
        let invitation = self.new_invitation().map_err(LoopbackError::Listen)?;
        Ok(Some(AdminRoutes { routes, shown: ConsoleAddressLease::at(self, url), invitation }))
    }

    /// The API and the console behind the access check. Without a fallback route, so that the routes can be merged with
    /// others.
    async fn routes_with_access(&self, state: &Path) -> Result<Router, LoopbackError> {
        let state = state.to_owned();
        let keeping = tokio::task::spawn_blocking(move || AdminToken::load_or_create(&state)).await;
        let token = keeping.map_err(|error| LoopbackError::Listen(io::Error::other(error)))??;
        Ok(access::routes(self, token))
    }

    async fn serve_at(
        &self,
        listener: TcpListener,
        routes: Router,
        leave: CancellationToken,
    ) -> Result<(), LoopbackError> {
        let bound = listener.local_addr().map_err(LoopbackError::Listen)?;
        *self.0.port.lock() = Some((bound, leave.clone()));
        let beside = routes.fallback(routes::not_found);
        let options = FaceOptions { beside, ..FaceOptions::local() };
        let served = face::serve_beside(listener, options, leave).await;
        *self.0.port.lock() = None;
        Ok(served?)
    }
}

/// Binds `port`, or any free port if it is in use.
async fn bind(port: u16) -> io::Result<TcpListener> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(at(port)).await {
        Err(error) if port != 0 && error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind(at(0)).await
        }
        bound => bound,
    }
}
