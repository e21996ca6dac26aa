//! The admin API and the console on a loopback port of this machine.
//!
//! Used by the hub command (port 7420, or a free one) and by `serve` (beside its faces). It does not check access
//! itself (`access` does).

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use parking_lot::{Mutex, MutexGuard};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::apps::{AppFrames, AppsListener};
use super::{AdminApi, AdminToken, AdminTokenError, access, routes};
use crate::AppsOptions;
use switchboard_gateway::face::{self, FaceError, FaceOptions};

/// The port that the documentation names.
pub const DEFAULT_ADMIN_PORT: u16 = 7420;

/// How long a request waits for a port that is being opened.
const PORT_TIMEOUT: Duration = Duration::from_secs(5);

/// The current address of the API.
#[derive(Debug, Default)]
pub(super) struct AdminAddress(watch::Sender<AddressState>);

#[derive(Debug, Default)]
enum AddressState {
    /// The API is on no port.
    #[default]
    Closed,
    /// A port is being opened. Clients of the hub's socket can be here before it is.
    Opening,
    /// The address, and the token that makes the API leave it.
    Open(SocketAddr, CancellationToken),
}

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
    /// Ends the listener of this console's apps.
    _apps: DropGuard,
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
        self.0.lock()
    }
}

// === impl ConsoleAddressLease ===

impl ConsoleAddressLease {
    fn at(admin: &AdminApi, url: &str, apps: DropGuard) -> Self {
        let url = Arc::from(url);
        admin.0.places.lock().push(Arc::clone(&url));
        Self { admin: admin.clone(), url, _apps: apps }
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
        match &*self.0.borrow() {
            AddressState::Open(address, _) => Some(*address),
            AddressState::Closed | AddressState::Opening => None,
        }
    }

    /// Waits for a port that is being opened.
    pub(super) async fn wait_while_opening(&self) {
        let mut states = self.0.subscribe();
        let is_settled = |state: &AddressState| !matches!(state, AddressState::Opening);
        // After the timeout there is no address yet, and the request says so.
        let _ = timeout(PORT_TIMEOUT, states.wait_for(is_settled)).await;
    }

    fn set(&self, state: AddressState) {
        self.0.send_replace(state);
    }
}

// === impl AdminApi ===

impl AdminApi {
    /// Makes the API leave `wanted` for another port; `false` if the API is not there.
    pub fn leave_address(&self, wanted: SocketAddr) -> bool {
        match &*self.0.port.0.borrow() {
            AddressState::Open(address, leave) if *address == wanted => {
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
        self.0.port.set(AddressState::Opening);
        let served = self.serve_on_ports(port, state, stop).await;
        self.0.port.set(AddressState::Closed);
        served
    }

    async fn serve_on_ports(
        &self,
        port: u16,
        state: &Path,
        stop: &CancellationToken,
    ) -> Result<(), LoopbackError> {
        // Lives as long as this function: a console that moves to another port keeps its frames.
        let (frames, _apps) = serve_apps(&AppsOptions::default()).await;
        let routes = self.routes_with_access(state, frames).await?;
        let mut port = port;
        while !stop.is_cancelled() {
            let listener = bind(port).await.map_err(LoopbackError::Listen)?;
            self.serve_at(listener, routes.clone(), stop.child_token()).await?;
            // `leave_address` freed the port for a face, so take any other.
            port = 0;
        }
        Ok(())
    }

    /// Routes to serve beside a face at `address`, with the console at `url` and its apps as `apps` says; `None` if the
    /// address is not a loopback one.
    pub async fn routes_for_address(
        &self,
        address: SocketAddr,
        url: &str,
        apps: &AppsOptions,
        state: &Path,
    ) -> Result<Option<AdminRoutes>, LoopbackError> {
        if !address.ip().is_loopback() {
            return Ok(None);
        }
        let (frames, apps) = serve_apps(apps).await;
        let routes = self.routes_with_access(state, frames).await?;
        let invitation = self.new_invitation().map_err(LoopbackError::Listen)?;
        let shown = ConsoleAddressLease::at(self, url, apps);
        Ok(Some(AdminRoutes { routes, shown, invitation }))
    }

    /// The API and the console behind the access check. Without a fallback route, so that the routes can be merged with
    /// others.
    async fn routes_with_access(
        &self,
        state: &Path,
        frames: AppFrames,
    ) -> Result<Router, LoopbackError> {
        let state = state.to_owned();
        let keeping = tokio::task::spawn_blocking(move || AdminToken::load_or_create(&state)).await;
        let token = keeping.map_err(|error| LoopbackError::Listen(io::Error::other(error)))??;
        Ok(access::routes(self, token, frames))
    }

    async fn serve_at(
        &self,
        listener: TcpListener,
        routes: Router,
        leave: CancellationToken,
    ) -> Result<(), LoopbackError> {
        let bound = listener.local_addr().map_err(LoopbackError::Listen)?;
        self.0.port.set(AddressState::Open(bound, leave.clone()));
        let beside = routes.fallback(routes::not_found);
        let options = FaceOptions { beside, ..FaceOptions::local() };
        let served = face::serve_beside(listener, options, leave).await;
        self.0.port.set(AddressState::Opening);
        Ok(served?)
    }
}

/// Serves the frames of a console's apps until the guard is dropped. A console without them still works, and says why
/// it shows no app.
async fn serve_apps(options: &AppsOptions) -> (AppFrames, DropGuard) {
    let stop = CancellationToken::new();
    let frames = match AppsListener::bind(options).await {
        Ok(listener) => {
            let frames = listener.frames();
            let serving = listener.serve(stop.clone());
            tokio::spawn(async move {
                if let Err(error) = serving.await {
                    tracing::warn!(%error, "the frames of apps are not served any more");
                }
            });
            frames
        }
        Err(error) => {
            AppFrames::without_listener(format!("the frames of apps are not served: {error}"))
        }
    };
    (frames, stop.drop_guard())
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
