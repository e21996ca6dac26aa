//! `switchboard self uninstall`: lists everything of ours on this machine, asks, and removes it.
//!
//! Used by `commands::run`. `inventory` finds the files; client files are edited by `config::install`. It does not
//! remove the program, nor anything inside a project.

mod inventory;
mod recognize;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use switchboard_config::private_file::FileLock;
use switchboard_hub::attach;
use switchboard_hub::socket::HubPaths;

use super::connect::hub_paths;
use super::install::{InstallConsent, consent};
use crate::args::SelfUninstall;
use crate::notice::Notice;
use crate::printer::{BOLD, DIM, Printer};
use crate::report::{Failure, FailureKind};
use crate::surroundings::Caller;
use crate::version::VERSION;
use inventory::{Inventory, InventoryItem, ItemKind};

/// How long a hub may take to finish its calls and end.
const HUB_END_TIMEOUT: Duration = Duration::from_secs(30);

/// What to do while the state has the only copy of clients' servers.
const UNDO_FIRST: &str = "put them back first with `switchboard setup --undo`";

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct UninstallOutput<'a> {
    #[serde(flatten)]
    inventory: &'a Inventory,
    removed: bool,
}

/// Keeps hubs from starting while files are removed.
struct HubStop {
    _locks: [FileLock; 2],
    files: [PathBuf; 2],
}

pub(super) async fn run(
    uninstall: &SelfUninstall,
    caller: &Caller,
    printer: &Printer,
) -> Result<(), Failure> {
    let inventory = Inventory::collect(caller);
    if !printer.is_json() {
        inventory.print(printer);
    }
    if inventory.items.is_empty() {
        printer.done("There is nothing to remove.");
        return answer(&inventory, false, printer);
    }
    if recognize::holds_entries_of_clients(&caller.surroundings.state_dir) {
        if !uninstall.confirmation.dry_run {
            return Err(setup_first());
        }
        printer.notices(&[Notice::note(
            "only Switchboard has your clients' own servers: `setup` removed them from the clients' files",
        )
        .with_hint(UNDO_FIRST)]);
    }
    let consent = consent("Remove all of it?", uninstall.confirmation, printer)?;
    if consent == InstallConsent::Refused {
        return answer(&inventory, false, printer);
    }
    let stopped = stop_hub(caller).await?;
    let mut failed = remove(&inventory, caller);
    failed.extend(stopped.remove_own_files(&inventory, caller));
    drop(stopped);
    failed.extend(remove_empty_folders(&inventory));
    answer(&inventory, failed.is_empty(), printer)?;
    if failed.is_empty() {
        printer
            .done("Removed. Restart clients that are open: they still run `switchboard connect`.");
        return Ok(());
    }
    Err(Failure::plain(FailureKind::Failed, "not everything could be removed").with_causes(failed))
}

/// The state has the only copy of what `setup` took out of clients' files.
fn setup_first() -> Failure {
    let message = "nothing was removed: your clients' own servers would be lost with it";
    Failure::plain(FailureKind::Failed, message).with_hint(UNDO_FIRST)
}

fn answer(inventory: &Inventory, removed: bool, printer: &Printer) -> Result<(), Failure> {
    if printer.is_json() {
        return printer.json(&UninstallOutput { inventory, removed });
    }
    Ok(())
}

/// Ends the hub, waits for its end, and takes its locks, so that an open client does not start the next one.
async fn stop_hub(caller: &Caller) -> Result<HubStop, Failure> {
    let place = hub_paths(caller)?;
    attach::request_stop(&place, VERSION)
        .await
        .map_err(|error| Failure::new("cannot stop the hub", error))?;
    let locks = tokio::task::spawn_blocking(move || take_locks(&place)).await;
    let locks = locks.map_err(|error| Failure::new("cannot wait for the hub", error))?;
    locks.map_err(|error| {
        Failure::new("the hub does not end", error).with_hint("end its calls, and try again")
    })
}

fn take_locks(
    place: &HubPaths,
) -> Result<HubStop, switchboard_config::private_file::FileLockError> {
    let files = [place.start_lock_path(), place.lock_path()];
    let starting = FileLock::acquire_within(&files[0], HUB_END_TIMEOUT)?;
    let running = FileLock::acquire_within(&files[1], HUB_END_TIMEOUT)?;
    Ok(HubStop { _locks: [starting, running], files })
}

// === impl HubStop ===

impl HubStop {
    /// Removes the lock files, and the state folder if only this command created it. Returns what failed.
    fn remove_own_files(&self, inventory: &Inventory, caller: &Caller) -> Vec<String> {
        let files = self.files.iter().map(|file| (file, fs::remove_file(file)));
        let state = &caller.surroundings.state_dir;
        let had_state = inventory.items.iter().any(|item| item.kind == ItemKind::State);
        let folder = (!had_state).then(|| (state, fs::remove_dir_all(state)));
        let failed = |(path, removed): (&PathBuf, io::Result<()>)| {
            let error = ignore_missing(removed).err()?;
            Some(format!("cannot remove {}: {error}", path.display()))
        };
        files.chain(folder).filter_map(failed).collect()
    }
}

/// Removes every item and returns what failed. State comes last: the edits of clients' files lock files in it.
fn remove(inventory: &Inventory, caller: &Caller) -> Vec<String> {
    let (state, others): (Vec<_>, Vec<_>) =
        inventory.items.iter().partition(|item| item.kind == ItemKind::State);
    let ordered = others.into_iter().chain(state);
    ordered.filter_map(|item| remove_item(item, caller).err()).collect()
}

fn remove_item(item: &InventoryItem, caller: &Caller) -> Result<(), String> {
    let path = &item.path;
    let removed = match (&item.installation, item.kind) {
        (Some(installation), _) => {
            return installation.erase(&caller.surroundings).map_err(|error| error.to_string());
        }
        (None, ItemKind::State) => fs::remove_dir_all(path),
        (None, _) => fs::remove_file(path),
    };
    let removed = ignore_missing(removed);
    removed.map_err(|error| format!("cannot remove {}: {error}", path.display()))
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes the folders of ours that hold nothing any more, and returns what failed. A folder with files of the person
/// stays.
fn remove_empty_folders(inventory: &Inventory) -> Vec<String> {
    let is_empty =
        |folder: &&PathBuf| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    let empty = inventory.folders.iter().filter(is_empty);
    let failed = empty.filter_map(|folder| {
        let error = ignore_missing(fs::remove_dir(folder)).err()?;
        Some(format!("cannot remove {}: {error}", folder.display()))
    });
    failed.collect()
}

impl Inventory {
    fn print(&self, printer: &Printer) {
        for item in &self.items {
            let path = printer.places.path(&item.path);
            let detail = item.detail.as_deref().map(|detail| format!("  {DIM}{detail}{DIM:#}"));
            let kind = item.kind.words();
            printer
                .line(format_args!("{kind:13} {BOLD}{path}{BOLD:#}{}", detail.unwrap_or_default()));
        }
        for stay in &self.stays {
            let path = printer.places.path(&stay.path);
            printer.line(format_args!("stays         {path}  {DIM}{}{DIM:#}", stay.reason));
        }
    }
}
