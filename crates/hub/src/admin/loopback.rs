//! The API on a port of this machine, to whoever has the token.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use parking_lot::{Mutex, MutexGuard};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{AdminApi, AdminToken, AdminTokenError, access, routes};
use switchboard_gateway::face::{self, FaceError, FaceOptions};

/// The port that people know.
pub const DEFAULT_ADMIN_PORT: u16 = 7420;

/// Where the API is now.
#[derive(Debug, Default)]
pub(super) struct AdminAddress(Mutex<Option<(SocketAddr, CancellationToken)>>);

/// Why the API is on no port.
#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    /// There is no token.
    #[error(transparent)]
    Token(#[from] AdminTokenError),
    /// There is no port.
    #[error("cannot listen on this machine")]
    Listen(#[source] io::Error),
    /// It cannot be served there.
    #[error(transparent)]
    Face(#[from] FaceError),
}

/// The API and the console, to be served beside faces.
pub struct AdminRoutes {
    routes: Router,
    shown: ConsoleAddressLease,
    /// What to append to the address so that it lets one page in, once.
    pub invitation: String,
}

/// Where the console is besides its own port: what people were told first is what they are told again.
#[derive(Debug, Default)]
pub(super) struct ConsoleAddresses(Mutex<Vec<Arc<str>>>);

/// While it is held, the console is said to be at this place.
#[derive(Debug)]
#[must_use = "dropped, the console is not there any more"]
pub struct ConsoleAddressLease {
    admin: AdminApi,
    url: Arc<str>,
}

// === impl AdminRoutes ===

impl AdminRoutes {
    /// Faces with it beside them, and what is to be held while they are served.
    pub fn add_to_faces(self, options: FaceOptions) -> (FaceOptions, ConsoleAddressLease) {
        (FaceOptions { beside: self.routes, ..options }, self.shown)
    }
}

/// The invitation is not for logs.
impl fmt::Debug for AdminRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").finish_non_exhaustive()
    }
}

// === impl ConsoleAddresses ===

impl ConsoleAddresses {
    /// The place that is longest there.
    pub(super) fn first(&self) -> Option<Arc<str>> {
        self.lock().first().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.0.lock()
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
        self.0.lock()
    }
}

// === impl Admin ===

impl AdminApi {
    /// Has the API leave this address for another; `false` if it is not there.
    pub fn leave_address(&self, wanted: SocketAddr) -> bool {
        match &*self.0.port.lock() {
            Some((address, leave)) if *address == wanted => {
                leave.cancel();
                true
            }
            _ => false,
        }
    }

    /// Serves the API on `port`, else on a free one, until `stop`. The token is kept in `state`.
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
            // Somebody else wants the port.
            port = 0;
        }
        Ok(())
    }

    /// The same beside something else that is served at this address, where people of this machine find it at `url`;
    /// absent where it is not for this machine alone.
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

    /// Everything that is served to whoever has the token, and to our own pages: the API and the console. It has no
    /// answer for other addresses, so that it may stand beside something else.
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

/// The port, or any that is free.
async fn bind(port: u16) -> io::Result<TcpListener> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(at(port)).await {
        Err(error) if port != 0 && error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind(at(0)).await
        }
        bound => bound,
    }
}
