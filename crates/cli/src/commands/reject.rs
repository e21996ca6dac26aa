//! `switchboard reject`: stores that an item of a project must not run.
//!
//! Used by `commands::run`. The kept catalog of a rejected server is deleted. The opposite is `approve`.

use serde_json::json;
use switchboard_config::{ApprovalItem, command_line};

use super::decide;
use super::former_catalogs::EntriesBefore;
use crate::args::Reject;
use crate::hint;
use crate::printer::{Printer, RED};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

pub(super) fn run(reject: &Reject, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let desired = caller.workspace.desired();
    let name = &reject.name;
    let cases = decide::rejectable(&desired, name);
    if cases.is_empty() {
        let failure = Failure::plain(
            FailureKind::Failed,
            format!("nothing of this project is called `{name}`"),
        );
        let is_known = desired.servers_named(name).next().is_some();
        return Err(failure.with_hint(if is_known {
            format!("it is your own; switch it off with `{}`", command_line("disable", [name]))
        } else {
            hint::no_server()
        }));
    }
    let items: Vec<ApprovalItem> = cases.iter().map(|case| case.item.clone()).collect();
    let before = EntriesBefore::read(caller);
    let recorded = caller.workspace.reject(&items);
    recorded.map_err(|error| Failure::config("cannot record the rejection", &error))?;
    let deleted = before.delete_former_catalogs(caller);
    if printer.is_json() {
        let rejected: Vec<_> =
            items.iter().map(|item| json!({ "kind": item.kind, "name": item.name })).collect();
        printer.json(&json!({ "rejected": rejected }))?;
        return deleted;
    }
    for case in &cases {
        printer.done(format_args!("{RED}rejected{RED:#} the {}", case.title()));
    }
    deleted
}
