//! The question whether values of a new entry that look like secrets move to the secret store.
//!
//! Used by `add`. Planning and storing is in `secret_moves`; writing the entry is in `write_entry`.

use serde_json::Value;

use super::secret_moves::SecretMoves;
use crate::args::Add;
use crate::printer::{BOLD, Printer};
use crate::prompt::{self, YesNo};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// Stores the secrets of an entry if the person wants that.
pub(super) fn move_secrets(
    add: &Add,
    entry: &Value,
    caller: &Caller,
    printer: &Printer,
) -> Result<SecretMoves, Failure> {
    let fields = switchboard_config::secret::find_secret_values(&add.name, entry);
    let fields: Vec<_> = fields.iter().map(|value| format!("`{}`", value.field)).collect();
    let is_wanted = !fields.is_empty() && is_wanted(add, &fields, printer);
    // A store that is not wanted is not opened.
    let entries = is_wanted.then_some((&*add.name, entry));
    let moves = SecretMoves::plan(entries, is_wanted, caller)?;
    moves.store()?;
    for each in moves.plan.moves.iter().filter(|_| !printer.is_json()) {
        let (field, name) = (show::bare(&each.field), &each.secret);
        printer.done(format_args!("stored `{field}` as the secret {BOLD}{name}{BOLD:#}"));
    }
    Ok(moves)
}

fn is_wanted(add: &Add, fields: &[String], printer: &Printer) -> bool {
    if add.secret || add.no_secret || !prompt::is_possible(printer) {
        return add.secret;
    }
    let verb = if fields.len() == 1 { "looks" } else { "look" };
    let question =
        format!("{} {verb} secret. Store it sealed, outside the file?", fields.join(", "));
    prompt::ask(printer, &question, YesNo::Yes) == YesNo::Yes
}
