//! `serve` beside a running hub: the hub opens the faces, with its own servers, while this process stays.
//!
//! Used by `commands::serve`; the hub calls `in_hub` for `POST /faces`. If the hub ends first, `commands::serve` goes
//! on at that address.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use switchboard_gateway::face;
use switchboard_hub::admin::client::AdminClient;
use switchboard_hub::admin::{
    self, AdminApi, AdminProblem, AdminProblemKind, ResultLimit, ServedFaces,
};
use switchboard_wire::json::Raw;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::hub::{WorkspaceRegistry, to_admin_problem};
use super::{Announcement, ServeEnd, bind, looked_after_there, ready, serve_console};
use crate::access::AccessSetup;
use crate::args::{Guarding, Serve};
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
/// How often binding the port is retried meanwhile.
const PORT_POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
struct ReadyFaces {
    address: SocketAddr,
    #[serde(default)]
    facts: FacesInfo,
}

/// Facts that the hub returns about the faces.
#[derive(Default, Deserialize)]
struct FacesInfo {
    /// The invitation to the console.
    #[serde(default)]
    console: Option<String>,
    /// Why there is no console.
    #[serde(default)]
    no_console: Option<String>,
}

impl FacesInfo {
    fn to_json(&self) -> Raw {
        let member = |key, text: &Option<String>| Some((key, Raw::string(text.as_deref()?)));
        let members = [member("console", &self.console), member("no_console", &self.no_console)];
        Raw::object(members.into_iter().flatten())
    }
}

/// Makes the hub serve, and waits.
pub(super) async fn run(
    serve: &Serve,
    door: &AccessSetup,
    caller: &Caller,
    printer: &Printer,
    hub: &AdminClient,
    announcement: &mut Announcement,
    ending: &mut wait::EndSignals,
) -> Result<ServeEnd, Failure> {
    let wanted = Serve { guarding: with_absolute_paths(&serve.guarding)?, ..serve.clone() };
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

/// The flags with absolute paths, since the hub runs in another folder.
fn with_absolute_paths(guarding: &Guarding) -> Result<Guarding, Failure> {
    let whole = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    let failed = |error| Failure::new("cannot tell the current folder", error);
    Ok(Guarding {
        tls_cert: whole(&guarding.tls_cert).map_err(failed)?,
        tls_key: whole(&guarding.tls_key).map_err(failed)?,
        ..guarding.clone()
    })
}

/// The hub's side: serves a workspace until the returned value is dropped.
pub(in super::super) async fn in_hub(
    rooms: &WorkspaceRegistry,
    admin: &AdminApi,
    whose: &admin::WorkspaceRequest,
    wanted: &Raw,
) -> Result<ServedFaces, AdminProblem> {
    let serve: Serve = wanted.decode().map_err(|error| {
        AdminProblem::new(AdminProblemKind::Malformed, "what is to be served cannot be understood")
            .with_detail(error.to_string())
            .with_hint("the hub is of another version; end it with `switchboard stop`")
    })?;
    // Checked again: the hub is responsible for access at its own faces.
    let door = AccessSetup::new(&serve.guarding, serve.listen, rooms.state_dir());
    let door = door.map_err(|failure| to_admin_problem(&failure))?;
    let front = rooms.open_for_faces(whose, &serve.view).await?;
    let (listener, address) =
        take_address(&serve, admin).await.map_err(|failure| to_admin_problem(&failure))?;
    let shutdown = CancellationToken::new();
    let (console, no_console) = serve_console(admin, &door, address, rooms.state_dir()).await;
    let invitation = console.as_ref().map(|console| console.invitation.clone());
    let facts = FacesInfo { console: invitation, no_console }.to_json();
    let snapshot = front.snapshot();
    let mut options = door.options(&serve.guarding, &snapshot.desired.settings.limits, address);
    options.open_sessions = admin.open_sessions();
    drop(snapshot);
    let (options, shown) = looked_after_there(console, options);
    let serving = face::serve(listener, Arc::clone(&front), options, shutdown.clone());
    let serving = tokio::spawn(serving);
    // Dropping the guard tells the faces to end.
    let held = (shutdown.drop_guard(), shown);
    let serving = Box::pin(async move {
        let _held = held;
        match serving.await {
            Ok(Ok(())) | Err(_) => Ok(()),
            Ok(Err(error)) => Err(to_admin_problem(&Failure::new("cannot serve", error))),
        }
    });
    Ok(ServedFaces { address, facts, serving })
}

/// Binds the wanted address. If the admin API holds it, the API moves to another port.
async fn take_address(
    serve: &Serve,
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
