//! `serve` beside a running hub: the hub opens the faces, with its own servers, while this process stays.
//!
//! Used by `commands::serve`; the hub calls `in_hub` for `POST /faces`. If the hub ends first, `commands::serve` goes
//! on at that address.

use std::path::PathBuf;

use switchboard_hub::admin::client::{AdminClient, AdminClientError};
use switchboard_hub::admin::{ReadyFaces, ResultLimit};
use switchboard_hub::{AccessOptions, AccessSetup, FacesOptions};

use super::{Announcement, ServeEnd, ready};
use crate::command_engine;
use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::Failure;
use crate::serve_notices::{served_text, tls_notice, view_config, view_notices};
use crate::state_check::unwritable_state;
use crate::surroundings::Caller;
use crate::wait;

/// Makes the hub serve, and waits.
pub(super) async fn run(
    serve: &FacesOptions,
    access: &AccessSetup,
    caller: &Caller,
    printer: &Printer,
    hub: &AdminClient,
    announcement: &mut Announcement,
    ending: &mut wait::EndSignals,
) -> Result<ServeEnd, Failure> {
    let wanted = FacesOptions { access: with_absolute_paths(&serve.access)?, ..serve.clone() };
    let whose = command_engine::workspace_request(caller, ResultLimit::Screen);
    let failed = |error| command_engine::hub_failure("cannot serve through the hub", error);
    let mut events = hub.serve_faces(&whose, &wanted).await.map_err(failed)?;
    let first = events.next().await.filter(|event| event.name == "ready");
    let first = first.ok_or_else(|| failed(AdminClientError::Gone))?;
    let ReadyFaces { address, facts } = first.read().map_err(failed)?;
    let mut notices = caller.notices.clone();
    notices.push(Notice::note(format!(
        "the running hub (process {}) serves these clients, with its own servers",
        hub.hub_info().hub
    )));
    notices.extend(tls_notice(access, address));
    notices.extend(unwritable_state(caller));
    notices.extend(facts.no_console.map(Notice::warning));
    let invitation = facts.console.as_deref();
    if announcement.is_due() {
        let desired = view_config(caller, &serve.view);
        notices.extend(view_notices(&desired, caller));
        let what = served_text(&desired, caller.resolve_options(), &serve.view);
        ready(access, address, invitation, &what, &notices, printer)?;
    }
    tokio::select! {
        event = events.next() => match event.filter(|event| event.name == "failed") {
            Some(event) => Err(failed(AdminClientError::Problem(event.read().map_err(failed)?))),
            None => Ok(ServeEnd::HubGone { address }),
        },
        () = ending.wait_for_end() => {
            printer.done("\nStopped. The hub keeps running for its other clients.");
            Ok(ServeEnd::Requested)
        }
    }
}

/// The flags with absolute paths, since the hub runs in another folder.
fn with_absolute_paths(access: &AccessOptions) -> Result<AccessOptions, Failure> {
    let whole = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
    let failed = |error| Failure::new("cannot find the current folder", error);
    Ok(AccessOptions {
        tls_cert: whole(&access.tls_cert).map_err(failed)?,
        tls_key: whole(&access.tls_key).map_err(failed)?,
        auth_client_secret_file: whole(&access.auth_client_secret_file).map_err(failed)?,
        ..access.clone()
    })
}
