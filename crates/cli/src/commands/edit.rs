//! `switchboard edit`: opens an entry in the person's editor, checks it, and replaces the old entry.
//!
//! Used by `commands::run`. The editor is in `editor`, writing in `write_entry`.

use std::path::Path;

use serde_json::{Value, json};
use switchboard_config::{ProblemSeverity, Scope, SourceOrigin, check_entry, parse_entry, redact};

use super::editor::Draft;
use super::former_catalogs::EntriesBefore;
use super::write_entry;
use crate::args::{Edit, ScopeArg};
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::prompt::{self, YesNo};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;

/// The outcome of an edit.
enum EditOutcome {
    Changed(Value),
    Unchanged,
}

pub(super) fn run(edit: &Edit, caller: &Caller, printer: &Printer) -> Result<(), Failure> {
    let name = &edit.name;
    let failed = |error| Failure::config(format!("cannot edit `{name}`"), &error);
    let (scope, path) =
        caller.workspace.find(name, edit.scope.map(ScopeArg::scope)).map_err(failed)?;
    let before = entry_at(name, scope, &path)?;
    let draft = Draft::new(&text(name, scope, &path, &before), caller)?;
    let outcome = revise(&draft, name, &before, caller, printer)?;
    let EditOutcome::Changed(entry) = &outcome else {
        return finish(name, scope, &path, &before, None, printer);
    };
    if entry_at(name, scope, &path)? != before {
        let message = format!("cannot edit `{name}`: it was changed meanwhile");
        return Err(
            Failure::plain(FailureKind::Failed, message).with_hint("look at it and edit it again")
        );
    }
    let entries = EntriesBefore::read(caller);
    let replaced = caller.workspace.replace(scope, &path, name, entry);
    replaced.map_err(failed)?;
    let deleted = entries.delete_former_catalogs(caller);
    finish(name, scope, &path, entry, Some(&before), printer)?;
    deleted
}

/// The entry as it stands in the file, with its references.
fn entry_at(name: &str, scope: Scope, path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}", path.display()), error))?;
    let found = switchboard_config::edit::get_member(&text, &["mcpServers", name]).ok().flatten();
    found.ok_or_else(|| {
        let message = format!("there is no server `{name}` in the {scope} scope any more");
        Failure::plain(FailureKind::Failed, message)
    })
}

fn text(name: &str, scope: Scope, path: &Path, entry: &Value) -> String {
    format!(
        "// The server `{name}` of the {scope} scope, in {}\n\
         // Save and close the editor to apply your changes. To change nothing, close it, or empty the file.\n\
         //\n\
         // command, args, env, cwd        a process\n\
         // type, url, headers             \"http\", \"sse\" or \"ws\"\n\
         // timeout, disabled, tools       either\n\
         //\n\
         // ${{VAR}} is looked up when the server starts: the place for secrets.\n\
         {entry:#}\n",
        path.display()
    )
}

/// Opens the editor until the entry is valid, or the person gives up.
fn revise(
    draft: &Draft,
    name: &str,
    before: &Value,
    caller: &Caller,
    printer: &Printer,
) -> Result<EditOutcome, Failure> {
    loop {
        let text = draft.edit()?;
        let mistake = match read(&text, name, caller) {
            Ok(None) => return Ok(EditOutcome::Unchanged),
            Ok(Some(entry)) if entry == *before => return Ok(EditOutcome::Unchanged),
            Ok(Some(entry)) => return Ok(EditOutcome::Changed(entry)),
            Err(mistake) => mistake,
        };
        if !prompt::is_possible(printer) {
            return Err(mistake.with_hint("nothing was changed"));
        }
        printer.notices(&[mistake.to_warning()]);
        if prompt::ask(printer, "\nEdit it again?", YesNo::Yes) != YesNo::Yes {
            let message = format!("stopped editing `{name}`; nothing was changed");
            return Err(Failure::plain(FailureKind::Failed, message));
        }
    }
}

/// Parses the edited text; `None` if it holds no entry.
fn read(text: &str, name: &str, caller: &Caller) -> Result<Option<Value>, Failure> {
    let is_said = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    if !text.lines().any(is_said) {
        return Ok(None);
    }
    let origin = SourceOrigin::text("what you wrote");
    let wrong =
        || Failure::plain(FailureKind::Failed, format!("the entry of `{name}` is not usable"));
    let entry = parse_entry(&origin, text)
        .map_err(|problem| wrong().with_causes([problem.message]).with_location(problem.at))?;
    write_entry::refuse_client_secret(&entry)?;
    let checked = check_entry(name, &entry, &origin.start(), &caller.surroundings.env);
    if checked.entry.is_some() {
        return Ok(Some(entry));
    }
    let errors = checked.problems.into_iter();
    let errors = errors.filter(|problem| problem.severity == ProblemSeverity::Error);
    Err(wrong().with_causes(errors.map(|problem| problem.message)))
}

/// Reports the result; `before` is the replaced entry, if there was one.
fn finish(
    name: &str,
    scope: Scope,
    path: &Path,
    entry: &Value,
    before: Option<&Value>,
    printer: &Printer,
) -> Result<(), Failure> {
    let problems = before.map_or_else(Vec::new, |before| new_secrets(name, before, entry));
    if printer.is_json() {
        return printer.json(&json!({
            "name": name, "scope": scope, "file": path, "changed": before.is_some(),
            "entry": redact::redact_entry(entry), "problems": problems,
        }));
    }
    let file = printer.places.path(path);
    printer.done(match before {
        Some(_) => format!("changed {BOLD}{name}{BOLD:#} in the {scope} scope, in {file}"),
        None => format!("{BOLD}{name}{BOLD:#} stays as it is, in {file}"),
    });
    printer.notices(&problems);
    Ok(())
}

/// Warnings about plain secrets that the old entry did not have.
fn new_secrets(name: &str, before: &Value, after: &Value) -> Vec<Notice> {
    let known = write_entry::plain_secrets(name, before);
    let mut found = write_entry::plain_secrets(name, after);
    found.retain(|notice| !known.iter().any(|known| known.message == notice.message));
    found
}
