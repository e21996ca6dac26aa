//! The hub that runs for this user and these folders, if one does.

use std::time::Duration;

use switchboard_hub::admin::client::{Attached, Client, Error, Found};
use switchboard_hub::admin::{Room, Whose};
use switchboard_hub::socket::{Folders, Place};
use tokio::time::timeout;

use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::{Failure, Kind};
use crate::surroundings::Caller;

/// How long a hub may take to write down what it knows; its disk has less.
const SETTLE: Duration = Duration::from_secs(3);

/// The hub, where one runs that understands us. Says why one that runs is not used.
pub(crate) async fn running(caller: &Caller, printer: &Printer) -> Option<Client> {
    let (hub, notices) = wanted(caller).await;
    printer.notices(&notices);
    hub
}

/// The caller's workspace in the hub. Where that cannot be had the command goes on by itself, and says so.
pub(super) async fn attach(caller: &Caller, room: Room) -> (Option<Attached>, Vec<Notice>) {
    let (hub, mut notices) = wanted(caller).await;
    let Some(hub) = hub else { return (None, notices) };
    match hub.open(&whose(caller, room)).await {
        Ok(attached) => (Some(attached), notices),
        Err(error) => {
            notices.push(alone(&refused("the hub does not open this project", error)));
            (None, notices)
        }
    }
}

/// Has the hub, where one runs, write down which calls have ended. Says why its latest may be missing.
pub(crate) async fn settle(caller: &Caller, printer: &Printer) {
    let settling = async {
        match find(caller).await? {
            Some(hub) => hub.settle_activity().await.map_err(not_asked),
            None => Ok(()),
        }
    };
    let settled = timeout(SETTLE, settling).await;
    let silent = |_| Err(not_asked(Error::Silent { after: SETTLE }));
    if let Err(failure) = settled.unwrap_or_else(silent) {
        let message = format!("{}; its latest calls may be missing", in_one_line(&failure));
        printer.notices(&[Notice::warning(message)]);
    }
}

/// Who asks the hub, and from where.
pub(crate) fn whose(caller: &Caller, results: Room) -> Whose {
    Whose {
        cwd: caller.surroundings.cwd.clone(),
        env: caller.surroundings.env.clone(),
        agent: None,
        client: "switchboard".to_owned(),
        results,
    }
}

/// What the hub would not do, or could not.
pub(crate) fn refused(message: impl Into<String>, error: Error) -> Failure {
    match error {
        Error::Problem(problem) => {
            let failure = Failure::plain(Kind::Failed, message);
            let failure = failure.because([problem.title].into_iter().chain(problem.detail));
            match problem.hint {
                Some(hint) => failure.hinted(hint),
                None => failure,
            }
        }
        error => Failure::new(message, error).hinted("try again, or go without it: `--standalone`"),
    }
}

/// The hub, for who does not go without it.
async fn wanted(caller: &Caller) -> (Option<Client>, Vec<Notice>) {
    if caller.is_alone() {
        return (None, Vec::new());
    }
    match find(caller).await {
        Ok(hub) => (hub, Vec::new()),
        Err(failure) => (None, vec![alone(&failure)]),
    }
}

async fn find(caller: &Caller) -> Result<Option<Client>, Failure> {
    // Where there is no place for a socket there is no hub either.
    let Ok(place) = Place::find(&Folders::of(&caller.surroundings)) else {
        return Ok(None);
    };
    match Client::find(&place, env!("CARGO_PKG_VERSION")).await.map_err(not_asked)? {
        Found::Hub(hub) => Ok(Some(hub)),
        Found::Nobody => Ok(None),
        Found::Stranger { why } => {
            let message = "the hub that runs is of another version";
            Err(Failure::plain(Kind::Failed, message).because([why]))
        }
    }
}

fn not_asked(error: Error) -> Failure {
    refused("the hub that runs cannot be asked", error)
}

/// Why the servers are started once more.
fn alone(failure: &Failure) -> Notice {
    let message = format!("{}; its servers are started once more", in_one_line(failure));
    Notice::warning(message).hinted("`switchboard stop` ends the hub, and clients start a new one")
}

fn in_one_line(failure: &Failure) -> String {
    format!("{}: {}", failure.message(), failure.causes().join(": "))
}
