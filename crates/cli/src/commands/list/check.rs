//! What the engine finds out about the servers that are ready, told one by one.

use switchboard_core::engine::{ServerView, Status as Found};

use super::progress::Progress;
use super::row::{Connection, Status};
use crate::hub::{self, Hub};
use crate::printer::Printer;
use crate::report::{Failure, Kind};

/// Tells of each server that is ready as soon as it is known what became of it.
pub(super) async fn all(hub: &Hub, printer: &Printer, mut tell: impl FnMut(usize, Status)) {
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
            let status = match hub::view_of(&snapshot, server) {
                Some(view) => status(hub, view),
                None => Some(Status::Failed(unknown(&server.name))),
            };
            if let Some(status) = status.filter(|_| progress.waits_for(index)) {
                progress.end(index);
                tell(index, status);
            }
        }
        if progress.is_waiting() && progress.until(changes.changed()).await.is_err() {
            return;
        }
    }
}

/// Its files say something else to the hub: it keeps what was good of a file that is broken now.
fn unknown(server: &str) -> Failure {
    let message = format!("the hub does not have `{server}`");
    let hint = "`switchboard doctor` shows what is wrong; `--standalone` goes without the hub";
    Failure::plain(Kind::Failed, message).hinted(hint)
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
