//! `switchboard add-json`: writes an entry that is given as JSON.
//!
//! Used by `commands::run`; writing is in `write_entry`.

use switchboard_config::{SourceOrigin, parse_entry};

use super::write_entry;
use crate::args::AddJson;
use crate::printer::Printer;
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

pub(super) fn run(add: &AddJson, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let entry = parse_entry(&SourceOrigin::text("the entry"), &add.entry).map_err(|problem| {
        Failure::plain(FailureKind::Usage, format!("cannot add `{}`", add.name))
            .with_causes([problem.message])
            .with_location(problem.at)
            .with_hint("quote it for your shell: '{\"command\": \"…\"}'")
    })?;
    write_entry::add(add.scope.scope(), &add.name, &entry, caller, printer)
}
