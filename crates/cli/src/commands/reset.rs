//! `switchboard reset-project-choices`: forgets approvals and rejections of a project.
//!
//! Used by `commands::run`.

use serde_json::json;

use crate::printer::Printer;
use crate::report::Failure;
use crate::surroundings::Caller;

pub(super) fn run(caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let forgotten = caller
        .workspace
        .forget_approvals()
        .map_err(|error| Failure::config("cannot forget the choices", &error))?;
    if printer.is_json() {
        return printer.json(&json!({ "forgotten": forgotten }));
    }
    let root = printer.places.path(caller.workspace.root());
    printer.done(match forgotten {
        0 => format!("there were no choices about {root}"),
        1 => format!("forgot 1 choice about {root}; it will be asked again"),
        many => format!("forgot {many} choices about {root}; they will be asked again"),
    });
    Ok(())
}
