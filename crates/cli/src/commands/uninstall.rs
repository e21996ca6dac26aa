//! `switchboard uninstall`: removes our entry from another client's file.
//!
//! Used by `commands::run`. The opposite is `install`.

use switchboard_config::install::InstalledEntry;

use super::install::{InstallConsent, answer, consent, find_installation, name_taken_failure};
use crate::args::Uninstall;
use crate::printer::{BOLD, Printer};
use crate::report::Failure;
use crate::show;
use crate::surroundings::Caller;

pub(super) fn run(
    uninstall: &Uninstall,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let client = uninstall.client.display_name();
    let found = find_installation(uninstall.client, &uninstall.name, caller)?;
    let entry = match &found.current {
        InstalledEntry::Ours(entry) => entry,
        InstalledEntry::Other(entry) => return Err(name_taken_failure(&found, entry, printer)),
        InstalledEntry::Nothing => {
            printer.done(format_args!("{client} has no entry of Switchboard."));
            return answer(&found, &serde_json::Value::Null, "unchanged", printer);
        }
    };
    if !printer.is_json() {
        let file = printer.places.path(&found.file);
        let target = show::target(entry);
        printer.line(format_args!(
            "{BOLD}{file}{BOLD:#} loses `{}`, which starts {target}",
            show::word(&uninstall.name)
        ));
    }
    let consent = consent("Remove it?", uninstall.confirmation, printer)?;
    if consent == InstallConsent::Refused {
        return answer(&found, entry, "not-written", printer);
    }
    found
        .erase(&caller.surroundings)
        .map_err(|error| Failure::config(format!("cannot uninstall from {client}"), &error))?;
    printer.done(format_args!("Removed from {BOLD}{client}{BOLD:#}."));
    answer(&found, entry, "written", printer)
}
