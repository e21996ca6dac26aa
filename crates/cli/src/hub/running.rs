//! The hub that runs for this user and these folders, if one does.

use switchboard_gateway::admin::client::{Attached, Client, Error, Found};
use switchboard_gateway::admin::{Room, Whose};
use switchboard_gateway::socket::{Folders, Place};

use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::{Failure, Kind};
use crate::surroundings::Caller;

/// The hub, where one runs that understands us. Says why one that runs is not used.
pub(crate) async fn running(caller: &Caller, printer: &Printer) -> Option<Client> {
    let (hub, notices) = find(caller).await;
    printer.notices(&notices);
    hub
}

/// The caller's workspace in the hub. Where that cannot be had the command goes on by itself, and says so.
pub(super) async fn attach(caller: &Caller, room: Room) -> (Option<Attached>, Vec<Notice>) {
    let (hub, mut notices) = find(caller).await;
    let Some(hub) = hub else { return (None, notices) };
    match hub.open(&whose(caller, room)).await {
        Ok(attached) => (Some(attached), notices),
        Err(error) => {
            notices.push(alone(&refused("the hub does not open this project", error)));
            (None, notices)
        }
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

async fn find(caller: &Caller) -> (Option<Client>, Vec<Notice>) {
    if caller.is_alone() {
        return (None, Vec::new());
    }
    // Where there is no place for a socket there is no hub either.
    let Ok(place) = Place::find(&Folders::of(&caller.surroundings)) else {
        return (None, Vec::new());
    };
    match Client::find(&place, env!("CARGO_PKG_VERSION")).await {
        Ok(Found::Hub(hub)) => (Some(hub), Vec::new()),
        Ok(Found::Nobody) => (None, Vec::new()),
        Ok(Found::Stranger { why }) => {
            let message = "the hub that runs is of another version";
            let failure = Failure::plain(Kind::Failed, message).because([why]);
            (None, vec![alone(&failure)])
        }
        Err(error) => {
            let failure = refused("the hub that runs cannot be asked", error);
            (None, vec![alone(&failure)])
        }
    }
}

/// Why the servers are started once more.
fn alone(failure: &Failure) -> Notice {
    let causes = failure.causes().join(": ");
    let message = format!("{}: {causes}; its servers are started once more", failure.message());
    Notice::warning(message).hinted("`switchboard stop` ends the hub, and clients start a new one")
}
