//! `switchboard remove`: deletes an entry from a configuration file.
//!
//! Used by `commands::run`. The server's kept catalog goes with the entry. It does not delete sign-ins (`logout` does).

use serde_json::json;

use super::former_catalogs::EntriesBefore;
use crate::args::{Remove, ScopeArg};
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) fn run(remove: &Remove, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let name = &remove.name;
    let before = EntriesBefore::read(caller);
    let (scope, path) = caller
        .workspace
        .remove(name, remove.scope.map(ScopeArg::scope))
        .map_err(|error| Failure::config(format!("cannot remove `{name}`"), &error))?;
    let deleted = before.delete_former_catalogs(caller);
    if printer.is_json() {
        printer.json(&json!({ "name": name, "scope": scope, "file": path }))?;
        return deleted;
    }
    printer.done(format_args!(
        "removed {BOLD}{name}{BOLD:#} from the {scope} scope, in {}",
        printer.places.path(&path)
    ));
    let desired = caller.workspace.desired();
    let left = desired.servers_named(name).next().map(|server| {
        let message = format!("now the server `{name}` of the {} scope is used", server.scope);
        Notice::note(message).with_location(Some(server.at.clone()))
    });
    printer.notices(&left);
    deleted
}
