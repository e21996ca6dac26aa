//! What the engine finds out about the servers that are ready, told one by one.

use switchboard_core::engine::{ServerView, Status as Found};

use super::progress::Progress;
use super::row::{Connection, Status};
use crate::hub::{self, Hub};
use crate::printer::Printer;

/// Tells of each server that is ready as soon as it is known what became of it.
pub(super) async fn all(hub: &Hub, printer: &Printer, mut tell: impl FnMut(usize, Status)) {
    let mut changes = hub.engine.changes();
    let mut progress = Progress::new(printer);
    for (index, server) in hub.desired.servers.iter().enumerate() {
        if server.entry().is_some() {
            progress.begin(index, &server.name);
        }
    }
    while progress.is_waiting() {
        changes.borrow_and_update();
        let snapshot = hub.snapshot();
        // What is shown stands in the order of what is desired.
        for (index, view) in snapshot.servers.iter().enumerate() {
            if let Some(status) = status(hub, view).filter(|_| progress.waits_for(index)) {
                progress.end(index);
                tell(index, status);
            }
        }
        if progress.is_waiting() && progress.until(changes.changed()).await.is_err() {
            return;
        }
    }
}

/// What became of a server; `None` while it is not known.
pub(crate) fn status(hub: &Hub, view: &ServerView) -> Option<Status> {
    match &view.status {
        Found::Connected => Connection::of(view).map(Status::Connected),
        _ => {
            let message = format!("cannot connect to `{}`", view.name);
            hub::failed(&message, view, &hub.desired).map(Status::Failed)
        }
    }
}
