//! `switchboard remove`: deletes an entry from a configuration file.
//!
//! Used by `commands::run`. It does not delete sign-ins (`logout` does).

use serde_json::json;

use crate::args::{Remove, ScopeArg};
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) fn run(remove: &Remove, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let name = &remove.name;
    let (scope, path) = caller
        .workspace
        .remove(name, remove.scope.map(ScopeArg::scope))
        .map_err(|error| Failure::config(format!("cannot remove `{name}`"), &error))?;
    if printer.is_json() {
        return printer.json(&json!({ "name": name, "scope": scope, "file": path }));
    }
    printer.done(format_args!(
        "removed {BOLD}{name}{BOLD:#} from the {scope} scope, in {}",
        printer.places.path(&path)
    ));
    let desired = caller.workspace.desired();
    let left = desired.servers_named(name).next().map(|server| {
        let message = format!("the server `{name}` of the {} scope counts now", server.scope);
        Notice::note(message).with_location(Some(server.at.clone()))
    });
    printer.notices(&left);
    Ok(())
}
