//! The faces of a workspace at one address of the network, with the console beside them.
//!
//! Used by `serve`, which serves them itself, and by the hub that serves them for it (`serve_in_hub`). It does not
//! print the address.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use switchboard_config::LimitSettings;
use switchboard_gateway::face::{self, FaceOptions, Readiness};
use switchboard_wire::json::Raw;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::access::sign_in_links::{PageAddressLease, SignInLinkTable};
use crate::access::{AccessSetup, BrowserSessions};
use crate::admin::{
    AdminApi, AdminProblem, AdminProblemKind, ConsoleAddressLease, FacesInfo, PeopleConsole,
    ServedFaces, WorkspaceRequest,
};
use crate::served_workspace::ServedWorkspace;
use crate::workspace_registry::WorkspaceRegistry;
use crate::{AppsOptions, FacesOptions, HubError, ProgramReplicas};

/// How long the admin API may take to leave a port.
const PORT_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often the port is tried meanwhile.
const PORT_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An address that is bound.
pub struct BoundAddress {
    listener: TcpListener,
    address: SocketAddr,
}

/// The faces of a workspace at one address, not served yet.
pub struct WorkspaceFaces {
    bound: BoundAddress,
    workspace: Arc<ServedWorkspace>,
    options: FaceOptions,
    info: FacesInfo,
    console: Option<ConsoleAddressLease>,
    pages: Option<PageAddressLease>,
}

// === impl BoundAddress ===

impl BoundAddress {
    /// Binds `listen`; port 0 takes a free one.
    pub async fn bind(listen: SocketAddr) -> Result<Self, HubError> {
        let failed = |source| HubError::Bind { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(HubError::LocalAddress)?;
        Ok(Self { listener, address })
    }

    /// The address, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers probes at the address while `opening` runs, which makes the faces of that address.
    pub async fn answer_probes_while<T>(
        &self,
        access: &AccessSetup,
        limits: &LimitSettings,
        opening: impl Future<Output = T>,
    ) -> Result<T, HubError> {
        let options = access.face_options(limits, self.address);
        face::answer_probes(&self.listener, &options, Readiness::Starting, opening)
            .await
            .map_err(HubError::Faces)
    }
}

// === impl WorkspaceFaces ===

impl WorkspaceFaces {
    /// The faces of `workspace` at `bound`, with the pages on which their people sign in. With `admin`, the console of
    /// that hub is beside them: that of the person who runs it for this machine alone, that of the people for all.
    pub async fn new(
        bound: BoundAddress,
        workspace: Arc<ServedWorkspace>,
        access: &AccessSetup,
        links: &SignInLinkTable,
        admin: Option<&AdminApi>,
        apps: &AppsOptions,
        state_dir: &Path,
    ) -> Self {
        let snapshot = workspace.snapshot();
        let mut options = access.face_options(&snapshot.desired.settings.limits, bound.address);
        drop(snapshot);
        let (mut info, mut console) = (FacesInfo::default(), None);
        if let Some(admin) = admin {
            options.open_sessions = admin.open_sessions();
            let url = access.local_url(bound.address);
            match admin.routes_for_address(bound.address, &url, apps, state_dir).await {
                Ok(Some(routes)) => {
                    info.console = Some(routes.invitation.clone());
                    let (with_console, lease) = routes.add_to_faces(options);
                    (options, console) = (with_console, Some(lease));
                }
                Ok(None) => {}
                Err(error) => info.no_console = Some(no_console_text(&error)),
            }
        }
        let sealer = workspace.engine().shared_sealer();
        let mut pages = None;
        if let Some(sessions) = access.browser_sessions(sealer, bound.address) {
            let (mut beside, lease) = access.sign_in_pages(links, Arc::clone(&sessions));
            pages = Some(lease);
            // Beyond this machine others could read the cookies without TLS.
            if let Some(admin) = admin
                && !access.is_open_to_eavesdroppers(bound.address)
            {
                let people = people_console(admin, sessions, &workspace);
                beside = beside.merge(people.routes(console.is_some()));
            }
            options.beside = std::mem::take(&mut options.beside).merge(beside);
        }
        Self { bound, workspace, options, info, console, pages }
    }

    /// Answers probes at the address while the last calls are finished, too. The address is free for another process only
    /// after that.
    #[must_use]
    pub fn with_probes_while_draining(mut self) -> Self {
        self.options.probes_while_draining = true;
        self
    }

    /// Answers for the same clients as other replicas.
    #[must_use]
    pub fn with_replicas(mut self, replicas: Option<&ProgramReplicas>) -> Self {
        self.options.replicas = replicas.map(|replicas| replicas.group.clone());
        self
    }

    /// The console beside the faces.
    pub fn info(&self) -> &FacesInfo {
        &self.info
    }

    /// Takes the lease of the console's address: while the lease is held, the hub names this address as the
    /// console's. Otherwise the faces hold the lease until they end.
    pub fn take_console_lease(&mut self) -> Option<ConsoleAddressLease> {
        self.console.take()
    }

    /// Serves until `shutdown`, and then until the calls under way have ended.
    pub async fn serve(self, shutdown: CancellationToken) -> Result<(), HubError> {
        let Self { bound, workspace, options, console: _console, pages: _pages, info: _ } = self;
        face::serve(bound.listener, workspace, options, shutdown).await.map_err(HubError::Faces)
    }
}

/// The console for the people who use `workspace`. Its settings name the administrators, as they are at each request.
fn people_console(
    admin: &AdminApi,
    sessions: Arc<BrowserSessions>,
    workspace: &Arc<ServedWorkspace>,
) -> PeopleConsole {
    let id = workspace.id().clone();
    let workspace = Arc::clone(workspace);
    PeopleConsole::new(admin.clone(), sessions, id, move |principal| {
        let snapshot = workspace.snapshot();
        let admins = &snapshot.desired.settings.admins;
        admins.iter().any(|admin| admin.value.names(principal.id(), principal.groups()))
    })
}

/// Why there is no console, in one line.
fn no_console_text(error: &dyn std::error::Error) -> String {
    let mut text = format!("the console is not served: {error}");
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// Serves a workspace of the hub as `wanted` says, a [`FacesOptions`], until the returned value is dropped.
pub(crate) async fn serve_in_hub(
    registry: &WorkspaceRegistry,
    admin: &AdminApi,
    request: &WorkspaceRequest,
    wanted: &Raw,
) -> Result<ServedFaces, AdminProblem> {
    let wanted: FacesOptions = wanted.decode().map_err(|error| {
        AdminProblem::new(AdminProblemKind::Malformed, "the request to serve is malformed")
            .with_detail(error.to_string())
            .with_hint("the hub has another version; stop it with `switchboard stop`")
    })?;
    // `serve` checked the access options, too; but the hub is the process that lets clients in, so it checks them
    // again.
    let access = AccessSetup::new(wanted.access.clone(), wanted.listen, registry.state_dir());
    let access = access.map_err(|error| registry.to_admin_problem(&error))?;
    let workspace = registry.open_for_faces(request, &wanted.view).await?;
    let bound = take_address(wanted.listen, admin).await;
    let bound = bound.map_err(|error| registry.to_admin_problem(&error))?;
    let address = bound.address();
    let (apps, state_dir, links) = (&wanted.apps, registry.state_dir(), registry.sign_in_links());
    let faces = WorkspaceFaces::new(bound, workspace, &access, links, Some(admin), apps, state_dir);
    let mut faces = faces.await;
    let (info, console) = (faces.info().clone(), faces.take_console_lease());
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(faces.serve(shutdown.clone()));
    // When the guard is dropped, the faces shut down in their own task.
    let held = (shutdown.drop_guard(), console);
    let advice = registry.advice();
    let serving = Box::pin(async move {
        let _held = held;
        match serving.await {
            Ok(Ok(())) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(advice.explain(&error).into()),
        }
    });
    Ok(ServedFaces { address, facts: info, serving })
}

/// Binds `listen`, and has the admin API leave that address if it is there: people expect the faces at the address
/// that they named.
async fn take_address(listen: SocketAddr, admin: &AdminApi) -> Result<BoundAddress, HubError> {
    let deadline = Instant::now() + PORT_RELEASE_TIMEOUT;
    let mut bound = BoundAddress::bind(listen).await;
    if bound.is_err() && admin.leave_address(listen) {
        while bound.is_err() && Instant::now() < deadline {
            sleep(PORT_POLL_INTERVAL).await;
            bound = BoundAddress::bind(listen).await;
        }
    }
    bound
}
