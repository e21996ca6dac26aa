//! The connection state of each ready server, reported one by one as it becomes known.
//!
//! Used by `commands::list`; `doctor` uses `status`. Connecting is done by the engine.

use switchboard_core::EngineProblem;
use switchboard_core::engine::{ConnectionCount, ServerSnapshot, ServerStatus as Found};

use super::progress::Progress;
use super::row::{CheckStatus, ConnectedInfo};
use crate::command_engine::{self, CommandEngine};
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};

/// Calls `tell` for each ready server as soon as its state is known.
pub(super) async fn all(
    hub: &CommandEngine,
    printer: &Printer,
    mut tell: impl FnMut(usize, CheckStatus, ConnectionCount, &[EngineProblem]),
) {
    let mut changes = hub.changes();
    let mut progress = Progress::new(printer);
    for (index, server) in hub.desired.servers.iter().enumerate() {
        if server.entry().is_some() {
            progress.begin(index, &server.name);
        }
    }
    while progress.is_waiting() {
        changes.borrow_and_update();
        let snapshot = hub.snapshot();
        for (index, server) in hub.desired.servers.iter().enumerate() {
            let view = command_engine::view_of(&snapshot, server);
            let status = match view {
                Some(view) => status(hub, view),
                None => {
                    Some(CheckStatus::Failed { failure: unknown(&server.name), last_tried: None })
                }
            };
            if let Some(status) = status.filter(|_| progress.waits_for(index)) {
                progress.end(index);
                let count = view.map_or(ConnectionCount::ONE, |view| view.connections);
                tell(index, status, count, &snapshot.problems);
            }
        }
        if progress.is_waiting() && progress.until(changes.changed()).await.is_err() {
            return;
        }
    }
}

/// The failure for a server that the hub does not have: the hub keeps the last valid version of a broken file.
fn unknown(server: &str) -> Failure {
    let message = format!("the hub does not have `{server}`");
    let hint = "`switchboard doctor` shows what is wrong; `--standalone` goes without the hub";
    Failure::plain(FailureKind::Failed, message).with_hint(hint)
}

/// The state of a server; `None` while it is connecting. A connected server may still refuse its lists.
pub(crate) fn status(hub: &CommandEngine, view: &ServerSnapshot) -> Option<CheckStatus> {
    if view.is_coming() {
        return None;
    }
    let message = format!("cannot connect to `{}`", view.name);
    match (&view.status, view.silent_since) {
        (Found::Connected, Some(since)) => {
            ConnectedInfo::of(view).map(|connection| CheckStatus::Silent { connection, since })
        }
        (Found::Connected, None) => ConnectedInfo::of(view).map(CheckStatus::Connected),
        (Found::Failed { last_tried, .. }, _) => {
            let failure = command_engine::connect_failure(&message, view, &hub.desired)?;
            Some(CheckStatus::Failed { failure, last_tried: Some(*last_tried) })
        }
        _ => {
            let failure = command_engine::connect_failure(&message, view, &hub.desired)?;
            Some(CheckStatus::Failed { failure, last_tried: None })
        }
    }
}
