//! Writes a new entry to a configuration file, and warns about secrets, missing commands and name clashes.
//!
//! Used by `add`, `add-json`, `edit`, `import` and `setup`. Editing the file is in `config::edit`.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use switchboard_config::{
    OnExistingEntry, Scope, SearchPath, ServerReadiness, SourceOrigin, check_entry, command_line,
    redact,
};

use crate::hint;
use crate::notice::Notice;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

/// The output of `--json`.
#[derive(Debug, Serialize)]
pub(super) struct WriteOutput {
    pub(super) name: String,
    scope: Scope,
    file: String,
    entry: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<Notice>,
}

/// Writes an entry under a free name, and prints the result.
pub(super) fn add(
    scope: Scope,
    name: &str,
    entry: &Value,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let written = write(scope, name, entry, caller)?;
    if printer.is_json() {
        return printer.json(&written);
    }
    printer.done(format_args!(
        "added {BOLD}{name}{BOLD:#} to the {scope} scope, in {}",
        printer.places.path(Path::new(&written.file))
    ));
    printer.notices(&written.problems);
    Ok(())
}

/// Writes an entry under a free name.
pub(super) fn write(
    scope: Scope,
    name: &str,
    entry: &Value,
    caller: &Caller,
) -> Result<WriteOutput, Failure> {
    refuse_client_secret(entry)?;
    let path = caller
        .workspace
        .add(scope, name, entry, OnExistingEntry::Keep)
        .map_err(|error| Failure::config(format!("cannot add `{name}`"), &error))?;
    Ok(WriteOutput {
        name: name.to_owned(),
        scope,
        entry: redact::redact_entry(entry),
        problems: notices(scope, name, entry, &path, caller),
        file: path.display().to_string(),
    })
}

/// Refuses an OAuth client secret in plain text: it has to be a reference.
pub(super) fn refuse_client_secret(entry: &Value) -> Result<(), Failure> {
    let secret = entry["oauth"]["clientSecret"].as_str();
    if secret.is_some_and(|secret| show::is_plain_secret("clientSecret", secret)) {
        return Err(Failure::usage(
            "a client secret is not written to a file as plain text",
            hint::storing("CLIENT_SECRET"),
        ));
    }
    Ok(())
}

fn notices(scope: Scope, name: &str, entry: &Value, path: &Path, caller: &Caller) -> Vec<Notice> {
    let at = SourceOrigin::file(path).start();
    let checked = check_entry(name, entry, &at, &caller.surroundings.env);
    let mut notices: Vec<_> =
        checked.problems.iter().map(|problem| Notice::from(problem).with_location(None)).collect();
    notices.extend(plain_secrets(name, entry));
    notices.extend(missing_command_notice(scope, entry, caller));
    notices.extend(others(scope, name, caller));
    notices.extend(switched_off(name, caller));
    if scope == Scope::Project {
        notices.push(Notice::note(
            "`.mcp.json` is shared with the project; others are asked before it runs",
        ));
    }
    notices
}

/// Warnings about secrets that stand in the file as plain text.
pub(super) fn plain_secrets(name: &str, entry: &Value) -> Vec<Notice> {
    let members = |key: &'static str| entry[key].as_object().into_iter().flatten();
    let text = |what: &str, variable: &str| {
        let message = format!("{what} of server `{name}` is written to the file as plain text");
        Notice::warning(message).with_hint(hint::storing(variable))
    };
    let mut found = Vec::new();
    for (variable, value) in members("env") {
        if show::is_plain_secret(variable, value.as_str().unwrap_or_default()) {
            found.push(text(&format!("the value of `{variable}`"), variable));
        }
    }
    let variable = format!("{}_TOKEN", name.to_ascii_uppercase().replace('-', "_"));
    for (header, value) in members("headers") {
        if show::is_plain_secret(header, value.as_str().unwrap_or_default()) {
            found.push(text(&format!("the value of the header `{header}`"), &variable));
        }
    }
    let masked = redact::redact_entry(entry);
    for (member, what) in [("url", "a secret in the URL"), ("args", "a secret in the arguments")] {
        if masked[member] != entry[member] {
            found.push(text(what, &variable));
        }
    }
    found
}

/// A warning if the command is not installed; it may be installed later, so this is no error.
fn missing_command_notice(scope: Scope, entry: &Value, caller: &Caller) -> Option<Notice> {
    let command = missing_command(scope, entry, caller)?;
    let notice = Notice::warning(format!("the command `{command}` was not found"));
    Some(
        notice.with_hint(format!(
            "{}; until then the server cannot start",
            hint::installing(command)
        )),
    )
}

/// The command of an entry, if it is not installed.
pub(super) fn missing_command<'a>(
    scope: Scope,
    entry: &'a Value,
    caller: &Caller,
) -> Option<&'a str> {
    let command = entry["command"].as_str()?;
    let root = caller.workspace.root();
    let start_folder = match scope {
        Scope::User => &caller.surroundings.home,
        _ => root,
    };
    let folder =
        entry["cwd"].as_str().map_or(start_folder.to_owned(), |cwd| start_folder.join(cwd));
    let is_there = if command.contains('/') {
        folder.join(command).exists()
    } else {
        let path = caller.variable("PATH").unwrap_or_default();
        let searched = SearchPath::new(path.as_ref(), start_folder, root).restricted_value();
        let searched = searched.as_deref().unwrap_or(path.as_ref());
        std::env::split_paths(searched).any(|folder| folder.join(command).is_file())
    };
    (!is_there && !command.contains("${")).then_some(command)
}

/// A note if settings switch off a server of this name.
fn switched_off(name: &str, caller: &Caller) -> Option<Notice> {
    let desired = caller.workspace.desired();
    let ServerReadiness::Disabled(reason) = &desired.servers_named(name).next()?.state else {
        return None;
    };
    let notice = Notice::warning(format!("the server `{name}` is disabled and does not run"));
    let enable = command_line("enable", [name]);
    Some(notice.with_location(reason.by.clone()).with_hint(format!("`{enable}` enables it")))
}

/// Notes about entries of this name in other scopes: only one is in force.
fn others(scope: Scope, name: &str, caller: &Caller) -> Vec<Notice> {
    let desired = caller.workspace.desired();
    let servers = desired.servers_named(name).map(|server| (server.scope, &server.at));
    let shadowed = desired.shadowed.iter().filter(|entry| entry.name == name);
    let all = servers.chain(shadowed.map(|entry| (entry.scope, &entry.at)));
    let mut told = BTreeSet::new();
    all.filter(|(other, _)| *other != scope && told.insert(*other))
        .map(|(other, at)| {
            let first = scope.max(other);
            let message = format!(
                "the {other} scope has a server `{name}`, too; the one in the {first} scope is used"
            );
            Notice::note(message).with_location(Some(at.clone()))
        })
        .collect()
}
