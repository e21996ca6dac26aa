//! The admin API: the hub itself, as the command line, the terminal UI and the console see it.
//!
//! HTTP/1.1 with JSON and server-sent events under `/api/v1`, served in two places: on the hub's private socket, after a
//! [`ClientHello`](crate::socket::ClientHello) that wants it, and on a loopback port to whoever has the token that is kept in user
//! state. `docs/reference/admin.md` lists every address.
//!
//! What is open here is bounded and ends with whoever opened it: a workspace, a call, a place at the queue of questions
//! each live as long as the response that stands for them. Nothing here holds a secret, and all words of servers are
//! cleaned. This module refuses to know how workspaces are made ([`WorkspaceHost`] does), and decides no permission.

#![cfg(unix)]

mod access;
mod activity;
mod answers;
mod approval;
mod call;
mod console;
mod events;
mod faces;
mod files;
mod host;
mod lease;
mod loopback;
mod passes;
mod problem;
mod questions;
mod ring;
mod routes;
mod servers;
mod sign_in;
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
    pulse: HubUsage,
    /// Ends the hub.
    stop: CancellationToken,
    leases: WorkspaceLeases,
    asked: WaitingQuestions,
    ring: EventRing,
    passes: ConsolePasses,
    /// Where it is reached on this machine.
    port: AdminAddress,
    /// Where its console is besides.
    places: ConsoleAddresses,
}

// === impl Admin ===

impl AdminApi {
    /// The API of the hub whose `pulse` it is and which `stop` ends.
    pub fn new(
        engine: Engine,
        host: Arc<dyn WorkspaceHost>,
        advice: Arc<dyn ErrorAdvice>,
        pulse: HubUsage,
        stop: CancellationToken,
    ) -> Self {
        Self(Arc::new(Inner {
            engine,
            host,
            advice,
            pulse,
            stop,
            leases: WorkspaceLeases::default(),
            asked: WaitingQuestions::default(),
            ring: EventRing::default(),
            passes: ConsolePasses::default(),
            port: AdminAddress::default(),
            places: ConsoleAddresses::default(),
        }))
    }

    /// Whether somebody has a workspace open through it.
    pub fn is_used(&self) -> bool {
        self.0.leases.count() > 0
    }

    /// Counts the sessions of faces that are served beside it.
    pub fn open_sessions(&self) -> OpenSessionCount {
        self.0.pulse.open_sessions.clone()
    }

    /// Where it is reached on this machine, if it is.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.port.address()
    }

    /// Where people find its console: where it is served to them, else where the API is.
    fn console_url(&self) -> Option<String> {
        let own = || self.address().map(|address| format!("http://{address}"));
        self.0.places.first().map(|url| url.to_string()).or_else(own)
    }

    /// What to append to the address of the API so that it lets one page of the console in, once.
    fn new_invitation(&self) -> std::io::Result<String> {
        Ok(format!("/#{}", self.0.passes.invite()?))
    }

    /// Every address of the API.
    pub fn routes(&self) -> axum::Router {
        routes::routes(self.clone())
    }
}

impl std::fmt::Debug for AdminApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").field("address", &self.address()).finish_non_exhaustive()
    }
}
