//! The admin API of a hub: HTTP/1.1 with JSON and server-sent events under `/api/v1`.
//!
//! Served to the person who runs the hub, in two places: on the hub's private socket, after a
//! [`ClientHello`](crate::socket::ClientHello) with purpose `admin`, and on a loopback port to requests with the token
//! from user state. `docs/reference/admin.md` lists every address. Other principals have a smaller API of their own
//! (`people`). A workspace, a call and an attendance of the question queue each live as long as the response that stands
//! for them, and their number is bounded. No response holds a secret, and all texts of servers are sanitized.
//!
//! Used by the command line (through [`client`]), the terminal UI and the console. It does not create workspaces
//! ([`WorkspaceHost`] does) and decides no permission (`core::permission` does).

#![cfg(unix)]

mod access;
mod accounts;
mod activity;
mod answers;
mod approval;
mod apps;
mod call;
mod clients;
mod console;
mod events;
mod faces;
mod files;
mod host;
mod lease;
mod loopback;
mod passes;
mod people;
mod problem;
mod questions;
mod ring;
mod routes;
mod rules;
mod servers;
mod sign_in;
mod skills;
mod snippet;
mod sse;
mod token;
mod waiting_questions;

pub mod client;

use std::net::SocketAddr;
use std::sync::Arc;

use switchboard_core::Engine;
use switchboard_core::remote::ErrorAdvice;
use tokio_util::sync::CancellationToken;

pub use host::{
    FacesInfo, OpenWorkspace, ReadyFaces, ResultLimit, ServedFaces, WorkspaceHost,
    WorkspaceRequest, WorkspaceSummary,
};
pub use loopback::{AdminRoutes, ConsoleAddressLease, DEFAULT_ADMIN_PORT, LoopbackError};
pub(crate) use people::PeopleConsole;
pub use problem::{AdminProblem, AdminProblemKind};
pub use questions::QuestionInfo;
pub use routes::AdminStatus;
pub use token::{AdminToken, AdminTokenError};

use crate::socket::HubUsage;
use lease::WorkspaceLeases;
use loopback::{AdminAddress, ConsoleAddresses};
use passes::ConsolePasses;
use ring::EventRing;
use switchboard_gateway::face::OpenSessionCount;
use waiting_questions::WaitingQuestions;

/// The admin API of one hub. Clones share it.
#[derive(Clone)]
pub struct AdminApi(Arc<Inner>);

struct Inner {
    engine: Engine,
    host: Arc<dyn WorkspaceHost>,
    advice: Arc<dyn ErrorAdvice>,
    usage: HubUsage,
    /// Cancelled to stop the hub.
    stop: CancellationToken,
    /// Cancelled when the hub begins to end: streams that wait for nothing end at once.
    ending: CancellationToken,
    leases: WorkspaceLeases,
    asked: WaitingQuestions,
    ring: EventRing,
    passes: ConsolePasses,
    /// The loopback address of the API, while it is served.
    port: AdminAddress,
    /// Further addresses of the console, beside faces.
    places: ConsoleAddresses,
}

// === impl AdminApi ===

impl AdminApi {
    /// The API of the hub that `usage` counts for and that `stop` ends.
    pub fn new(
        engine: Engine,
        host: Arc<dyn WorkspaceHost>,
        advice: Arc<dyn ErrorAdvice>,
        usage: HubUsage,
        stop: CancellationToken,
    ) -> Self {
        Self(Arc::new(Inner {
            engine,
            host,
            advice,
            usage,
            stop,
            ending: CancellationToken::new(),
            leases: WorkspaceLeases::default(),
            asked: WaitingQuestions::default(),
            ring: EventRing::default(),
            passes: ConsolePasses::default(),
            port: AdminAddress::default(),
            places: ConsoleAddresses::default(),
        }))
    }

    /// Whether a client has a workspace open through the API.
    pub fn is_used(&self) -> bool {
        self.0.leases.count() > 0
    }

    /// Tells every page that the hub ends, and closes the streams of events and logs. Running calls go on.
    pub fn announce_end(&self) {
        self.0.ending.cancel();
    }

    /// The counter for sessions of faces that are served beside the API.
    pub fn open_sessions(&self) -> OpenSessionCount {
        self.0.usage.open_sessions.clone()
    }

    /// The loopback address of the API, if it is served there.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.port.address()
    }

    /// The URL of the console: beside a face if it is served there, else at the loopback address.
    async fn console_url(&self) -> Option<String> {
        self.0.port.wait_while_opening().await;
        let own = || self.address().map(|address| format!("http://{address}"));
        self.0.places.first().map(|url| url.to_string()).or_else(own)
    }

    /// A new one-time invitation, as the suffix of the console's URL.
    fn new_invitation(&self) -> std::io::Result<String> {
        Ok(format!("/#{}", self.0.passes.invite()?))
    }

    /// The routes of the API, without an access check.
    pub fn routes(&self) -> axum::Router {
        routes::routes(self.clone())
    }
}

impl std::fmt::Debug for AdminApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").field("address", &self.address()).finish_non_exhaustive()
    }
}
