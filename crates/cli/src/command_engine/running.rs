//! Finds the running hub of this user and these folders, and opens a workspace there.
//!
//! Used by `command_engine`, `ui` and the commands `status`, `questions`, `answer` and `serve`. It does not start a hub
//! (`commands::connect` does).

use std::time::Duration;

use switchboard_hub::admin::client::{AdminClient, AdminClientError, HubLookup, HubWorkspace};
use switchboard_hub::admin::{ResultLimit, WorkspaceRequest};
use switchboard_hub::socket::{HubFolders, HubPaths};
use tokio::time::timeout;

use crate::notice::Notice;
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;
use crate::version::VERSION;

/// The time that a hub may take to write its latest calls to the audit log.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns the running hub, if it understands this program. Prints why a running hub is not used.
pub(crate) async fn find_running(caller: &Caller, printer: &Printer) -> Option<AdminClient> {
    let (hub, notices) = find_or_notice(caller).await;
    printer.notices(&notices);
    hub
}

/// Opens the caller's workspace in the hub. Without a hub the command uses an engine of its own, and prints why.
pub(super) async fn attach(
    caller: &Caller,
    room: ResultLimit,
) -> (Option<HubWorkspace>, Vec<Notice>) {
    let (hub, mut notices) = find_or_notice(caller).await;
    let Some(hub) = hub else { return (None, notices) };
    match hub.open(&workspace_request(caller, room)).await {
        Ok(attached) => (Some(attached), notices),
        Err(error) => {
            notices
                .push(standalone_notice(&hub_failure("the hub cannot open this project", error)));
            (None, notices)
        }
    }
}

/// Has a running hub write ended calls to the audit log. Prints why its latest calls may be missing.
pub(crate) async fn settle(caller: &Caller, printer: &Printer) {
    let settling = async {
        match find(caller).await? {
            Some(hub) => hub.settle_activity().await.map_err(not_asked),
            None => Ok(()),
        }
    };
    let settled = timeout(SETTLE_TIMEOUT, settling).await;
    let silent = |_| Err(not_asked(AdminClientError::Silent { after: SETTLE_TIMEOUT }));
    if let Err(failure) = settled.unwrap_or_else(silent) {
        let message = format!("{}; its latest calls may be missing", in_one_line(&failure));
        printer.notices(&[Notice::warning(message)]);
    }
}

/// The request to the hub for the caller's workspace: folder, environment and limit of results.
pub(crate) fn workspace_request(caller: &Caller, results: ResultLimit) -> WorkspaceRequest {
    WorkspaceRequest {
        cwd: caller.surroundings.cwd.clone(),
        env: caller.surroundings.env.clone(),
        agent: None,
        client: "switchboard".to_owned(),
        results,
    }
}

/// The failure of a request that the hub refused or could not do.
pub(crate) fn hub_failure(message: impl Into<String>, error: AdminClientError) -> Failure {
    match error {
        AdminClientError::Problem(problem) => {
            let failure = Failure::plain(FailureKind::Failed, message);
            let failure = failure.with_causes([problem.title].into_iter().chain(problem.detail));
            match problem.hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        }
        error => Failure::new(message, error)
            .with_hint("try again, or run without the hub: `--standalone`"),
    }
}

/// Returns the running hub, unless the command runs standalone; with notices why a running hub is not used.
async fn find_or_notice(caller: &Caller) -> (Option<AdminClient>, Vec<Notice>) {
    if caller.is_alone() {
        return (None, Vec::new());
    }
    match find(caller).await {
        Ok(hub) => (hub, Vec::new()),
        Err(failure) => (None, vec![standalone_notice(&failure)]),
    }
}

async fn find(caller: &Caller) -> Result<Option<AdminClient>, Failure> {
    // Where no folder can hold a socket, no hub runs.
    let Ok(place) = HubPaths::find(&HubFolders::from_surroundings(&caller.surroundings)) else {
        return Ok(None);
    };
    match AdminClient::find(&place, VERSION).await.map_err(not_asked)? {
        HubLookup::Hub(hub) => Ok(Some(hub)),
        HubLookup::Nobody => Ok(None),
        HubLookup::Stranger { why } => {
            let message = "the running hub has another version";
            Err(Failure::plain(FailureKind::Failed, message).with_causes([why]))
        }
    }
}

fn not_asked(error: AdminClientError) -> Failure {
    hub_failure("cannot reach the running hub", error)
}

/// The warning that a command starts the servers once more, with the reason.
fn standalone_notice(failure: &Failure) -> Notice {
    let message = format!("{}; this command starts the servers itself", in_one_line(failure));
    Notice::warning(message)
        .with_hint("`switchboard stop` ends the hub, and clients start a new one")
}

fn in_one_line(failure: &Failure) -> String {
    format!("{}: {}", failure.message(), failure.causes().join(": "))
}
