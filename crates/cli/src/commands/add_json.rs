//! `switchboard add-json`

use switchboard_config::{Origin, parse_entry};

use super::written;
use crate::args::AddJson;
use crate::printer::Printer;
use crate::report::{Failure, Kind};
use crate::surroundings::Caller;

pub(super) fn run(add: &AddJson, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let entry = parse_entry(&Origin::text("the entry"), &add.entry).map_err(|problem| {
        Failure::plain(Kind::Usage, format!("cannot add `{}`", add.name))
            .because([problem.message])
            .placed(problem.at)
            .hinted("quote it for your shell: '{\"command\": \"…\"}'")
    })?;
    written::add(add.scope.scope(), &add.name, &entry, caller, printer)
}
