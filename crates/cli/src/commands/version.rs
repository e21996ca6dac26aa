//! `switchboard version`: the version of this program, as `--version` prints it.
//!
//! Used by `commands::run`.

use serde_json::json;

use crate::printer::Printer;
use crate::report::Failure;
use crate::version::VERSION;

pub(super) fn run(printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&json!({ "version": VERSION }));
    }
    printer.line(format_args!("switchboard {VERSION}"));
    Ok(())
}
