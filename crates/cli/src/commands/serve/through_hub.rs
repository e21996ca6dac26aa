//! `serve` where a hub runs already: the hub serves, with the servers it holds, for as long as this program stays. Where
//! the hub ends first, the caller goes on at the same address.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_gateway::face;
use switchboard_hub::admin::client::AdminClient;
use switchboard_hub::admin::{
    self, AdminApi, AdminProblem, AdminProblemKind, ResultLimit, ServedFaces,
};
use switchboard_hub::{AccessOptions, FacesOptions};
use switchboard_wire::json::Raw;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::hub::{WorkspaceRegistry, to_admin_problem};
use super::{Announcement, ServeEnd, bind, looked_after_there, ready, serve_console};
use crate::access::AccessSetup;
use crate::command_engine;
use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::Failure;
use crate::served_workspace::{served_text, view_config, view_notices};
use crate::state_check::unwritable_state;
use crate::surroundings::Caller;
use crate::wait;

/// How long the admin API may take to leave a port.
const PORT_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often the port is tried meanwhile.
const PORT_POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
struct ReadyFaces {
    address: SocketAddr,
    #[serde(default)]
    facts: FacesInfo,
}

/// What the hub says about what it serves.
#[derive(Default, Serialize, Deserialize)]
struct FacesInfo {
    /// What opens the console there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    console: Option<String>,
    /// Why there is no console.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_console: Option<String>,
}

/// Has the hub serve, and waits.
pub(super) async fn run(
    serve: &FacesOptions,
    door: &AccessSetup,
    caller: &Caller,
    printer: &Printer,
    hub: &AdminClient,
    announcement: &mut Announcement,
    ending: &mut wait::EndSignals,
) -> Result<ServeEnd, Failure> {
    let wanted = FacesOptions { access: with_absolute_paths(&serve.access)?, ..serve.clone() };
    let wanted = Raw::from_value(&wanted)
        .map_err(|error| Failure::new("cannot say what is wanted", error))?;
    let whose = command_engine::workspace_request(caller, ResultLimit::Screen);
    let failed = |error| command_engine::hub_failure("cannot serve through the hub", error);
    let mut events = hub.serve_faces(&whose, &wanted).await.map_err(failed)?;
    let first = events.next().await.filter(|event| event.name == "ready");
    let first = first.ok_or_else(|| failed(admin::client::AdminClientError::Gone))?;
    let ReadyFaces { address, facts } = first.read().map_err(failed)?;
    let mut notices = caller.notices.clone();
    notices.push(Notice::note(format!(
        "the hub that runs (process {}) serves, with the servers it holds",
        hub.hub_info().hub
    )));
    notices.extend(door.notices(address));
    notices.extend(unwritable_state(caller));
    notices.extend(facts.no_console.map(Notice::warning));
    let invitation = facts.console.as_deref();
    if announcement.is_due() {
        let desired = view_config(caller, &serve.view);
        notices.extend(view_notices(&desired, caller));
        let what = served_text(&desired, caller.asked(), &serve.view);
        ready(serve, door, address, invitation, &what, &notices, printer)?;
    }
    tokio::select! {
        event = events.next() => match event.filter(|event| event.name == "failed") {
            Some(event) => Err(failed(admin::client::AdminClientError::Problem(event.read().map_err(failed)?))),
            None => Ok(ServeEnd::HubGone { address }),
        },
        () = ending.wait_for_end() => {
            printer.done("\nEnding; answers under way are waited for.");
            Ok(ServeEnd::Wanted)
        }
    }
}

/// The same with files that mean the same wherever the hub is.
fn with_absolute_paths(access: &AccessOptions) -> Result<AccessOptions, Failure> {
    let whole = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    let failed = |error| Failure::new("cannot tell the current folder", error);
    Ok(AccessOptions {
        tls_cert: whole(&access.tls_cert).map_err(failed)?,
        tls_key: whole(&access.tls_key).map_err(failed)?,
        ..access.clone()
    })
}

/// The other side of it: serves a workspace of the hub, until what is returned is dropped.
pub(in super::super) async fn in_hub(
    rooms: &WorkspaceRegistry,
    admin: &AdminApi,
    whose: &admin::WorkspaceRequest,
    wanted: &Raw,
) -> Result<ServedFaces, AdminProblem> {
    let serve: FacesOptions = wanted.decode().map_err(|error| {
        AdminProblem::new(AdminProblemKind::Malformed, "what is to be served cannot be understood")
            .with_detail(error.to_string())
            .with_hint("the hub is of another version; end it with `switchboard stop`")
    })?;
    // Looked at again: what is let in here is this process's to answer for.
    let door = AccessSetup::new(&serve.access, serve.listen, rooms.state_dir());
    let door = door.map_err(|failure| to_admin_problem(&failure))?;
    let front = rooms.open_for_faces(whose, &serve.view).await?;
    let (listener, address) =
        take_address(&serve, admin).await.map_err(|failure| to_admin_problem(&failure))?;
    let shutdown = CancellationToken::new();
    let (console, no_console) = serve_console(admin, &door, address, rooms.state_dir()).await;
    let invitation = console.as_ref().map(|console| console.invitation.clone());
    let facts = FacesInfo { console: invitation, no_console };
    let snapshot = front.snapshot();
    let mut options = door.options(&serve.access, &snapshot.desired.settings.limits, address);
    options.open_sessions = admin.open_sessions();
    drop(snapshot);
    let (options, shown) = looked_after_there(console, options);
    let serving = face::serve(listener, Arc::clone(&front), options, shutdown.clone());
    let serving = tokio::spawn(serving);
    // Dropped, the faces are told to end, and do so by themselves.
    let held = (shutdown.drop_guard(), shown);
    let serving = Box::pin(async move {
        let _held = held;
        match serving.await {
            Ok(Ok(())) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(to_admin_problem(&Failure::new("cannot serve", error))),
        }
    });
    let facts = Raw::from_value(&facts).unwrap_or_else(|_| Raw::empty_object());
    Ok(ServedFaces { address, facts, serving })
}

/// The address that is wanted, from the admin API if need be: it is where people expect to be served.
async fn take_address(
    serve: &FacesOptions,
    admin: &AdminApi,
) -> Result<(TcpListener, SocketAddr), Failure> {
    let deadline = Instant::now() + PORT_RELEASE_TIMEOUT;
    let mut bound = bind(serve).await;
    if bound.is_err() && admin.leave_address(serve.listen) {
        while bound.is_err() && Instant::now() < deadline {
            sleep(PORT_POLL_INTERVAL).await;
            bound = bind(serve).await;
        }
    }
    bound
}
