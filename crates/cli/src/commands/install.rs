//! `switchboard install`: shows the entry that makes another client start `switchboard connect`, asks, and writes it.
//!
//! Used by `commands::run`; `uninstall`, `setup`, `undo` and `clients` share its helpers. Editing clients' files is in `config::install`.

use std::path::PathBuf;

use clap::Parser as _;
use serde_json::{Value, json};
use switchboard_config::import::{ClientApp, ClientFileOwner};
use switchboard_config::install::{ClientInstallation, InstalledEntry, LaunchCommand};
use switchboard_config::{Platform, redact};

use crate::args::{Args, Confirmation, Global, Install};
use crate::printer::{BOLD, DIM, Printer};
use crate::prompt::{self, YesNo};
use crate::report::{Failure, FailureKind};
use crate::show;
use crate::surroundings::{self, Caller};

/// Whether the client's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstallConsent {
    Granted,
    Refused,
}

pub(super) fn run(
    install: &Install,
    global: &Global,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let launch = launch(&install.connect, global, caller)?.for_client(install.client);
    let found = find_installation(install.client, &install.name, caller)?;
    if let InstalledEntry::Other(entry) = &found.current {
        return Err(name_taken_failure(&found, entry, printer));
    }
    let entry = found.entry(&launch);
    if found.current.value() == Some(&entry) {
        printer.done(format_args!("{} already has Switchboard.", install.client.display_name()));
        return answer(&found, &entry, "unchanged", printer);
    }
    if !printer.is_json() {
        show(&found, &entry, printer)?;
    }
    let consent = consent("Write it?", install.confirmation, printer)?;
    if consent == InstallConsent::Refused {
        return answer(&found, &entry, "not-written", printer);
    }
    found.write(&entry, &caller.surroundings).map_err(|error| {
        Failure::config(format!("cannot install in {}", install.client.display_name()), &error)
    })?;
    let name = install.client.display_name();
    printer.done(format_args!("Installed in {BOLD}{name}{BOLD:#}. Restart {name} to use it."));
    others(install.client, caller, printer);
    answer(&found, &entry, "written", printer)
}

/// The entry under the name in the client's file.
pub(super) fn find_installation(
    client: ClientApp,
    name: &str,
    caller: &Caller,
) -> Result<ClientInstallation, Failure> {
    let program = program(caller)?;
    let shown = client.display_name();
    ClientInstallation::inspect(client, name, &program, &caller.surroundings, Platform::current())
        // clap accepts only clients that can be written to.
        .ok_or_else(|| {
            Failure::plain(
                FailureKind::Usage,
                format!("{shown} has no file that Switchboard can write to"),
            )
        })?
        .map_err(|error| Failure::config(format!("cannot read the file of {shown}"), &error))
}

/// Asks, unless a flag has decided.
pub(super) fn consent(
    question: &str,
    confirmation: Confirmation,
    printer: &Printer,
) -> Result<InstallConsent, Failure> {
    match (confirmation.dry_run, confirmation.yes) {
        (true, _) => Ok(InstallConsent::Refused),
        (_, true) => Ok(InstallConsent::Granted),
        _ if !prompt::is_possible(printer) => {
            let message = "nothing was written: there is no terminal to ask on";
            Err(Failure::plain(FailureKind::Failed, message).with_hint("agree with `--yes`"))
        }
        _ => match prompt::ask(printer, &format!("\n{question}"), YesNo::No) {
            YesNo::Yes => Ok(InstallConsent::Granted),
            _ => Ok(InstallConsent::Refused),
        },
    }
}

/// The failure for a name that holds an entry of another program.
pub(super) fn name_taken_failure(
    found: &ClientInstallation,
    entry: &Value,
    printer: &Printer,
) -> Failure {
    let ClientInstallation { client, name, file, .. } = found;
    let what = show::short_target(&redact::redact_entry(entry));
    let file = printer.places.path(file);
    let client = client.display_name();
    let message = format!("{client} has another server under the name `{name}`: {what}");
    Failure::plain(FailureKind::Failed, message)
        .with_hint(format!("choose another name with `--name`, or remove that entry from {file}"))
}

/// The output of `--json`.
pub(super) fn answer(
    found: &ClientInstallation,
    entry: &Value,
    done: &str,
    printer: &Printer,
) -> Result<(), Failure> {
    if !printer.is_json() {
        return Ok(());
    }
    printer.json(&json!({
        "client": found.client.name(), "file": found.file.display().to_string(),
        "name": found.name, "entry": redact::redact_entry(entry), "done": done,
    }))
}

fn show(found: &ClientInstallation, entry: &Value, printer: &Printer) -> Result<(), Failure> {
    let file = printer.places.path(&found.file);
    let verb = match found.current {
        InstalledEntry::Nothing => "gets",
        InstalledEntry::Ours(_) | InstalledEntry::Other(_) => {
            "has an older entry, which changes to"
        }
    };
    printer.line(format_args!("{BOLD}{file}{BOLD:#} {verb}:\n"));
    let shown = found
        .entry_text(entry)
        .map_err(|error| Failure::new("cannot write the entry as text", error))?;
    for line in shown.trim().lines() {
        printer.line(format_args!("  {}", switchboard_wire::sanitize::sanitize_line(line)));
    }
    Ok(())
}

/// A note about the client's own servers, which it still starts itself.
fn others(client: ClientApp, caller: &Caller, printer: &Printer) {
    let read = caller.workspace.read_client_files(&[client], ClientFileOwner::User);
    let plan = caller.workspace.plan_import(read, None);
    let (count, verb) = match plan.add.len() {
        0 => return,
        1 => ("1 server".to_owned(), "stays"),
        many => (format!("{many} servers"), "stay"),
    };
    printer.done(format_args!(
        "{DIM}{count} of its own {verb} as before; `switchboard import {client}` copies them here{DIM:#}"
    ));
}

/// The command of the entry: this program with the folders and flags of this command line.
pub(super) fn launch(
    connect: &[String],
    global: &Global,
    caller: &Caller,
) -> Result<LaunchCommand, Failure> {
    let mut args = vec!["connect".to_owned()];
    if global.config_dir.is_some() || caller.variable("SWITCHBOARD_CONFIG_DIR").is_some() {
        let folder = caller.surroundings.config_dir.display().to_string();
        args.extend(["--config-dir".to_owned(), folder]);
    }
    args.extend(connect.iter().cloned());
    let words = ["switchboard".to_owned()].into_iter().chain(args.iter().cloned());
    if let Err(error) = Args::try_parse_from(words) {
        let why = error.render().to_string();
        let why = why.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let hint = "see `switchboard connect --help`";
        return Err(Failure::usage(format!("`connect` does not accept these flags: {why}"), hint));
    }
    Ok(LaunchCommand { program: program(caller)?, args })
}

/// The path of this program: from `PATH` if it is there, because a link outlives the version it points to.
pub(super) fn program(caller: &Caller) -> Result<PathBuf, Failure> {
    let program = surroundings::program().ok_or_else(|| {
        Failure::plain(FailureKind::Failed, "cannot find the path of this program")
    })?;
    let path = caller.variable("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let found = program.file_name().and_then(|name| {
        let is_this = |file: &PathBuf| file.canonicalize().is_ok_and(|file| file == program);
        folders.find_map(|folder| Some(folder.join(name)).filter(is_this))
    });
    Ok(found.unwrap_or(program))
}
