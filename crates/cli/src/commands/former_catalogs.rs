//! Deletes the kept catalogs of entries that a command removes, changes or rejects.
//!
//! Used by `remove`, `reject`, `edit` and `setup --undo`. A running hub deletes the catalogs of its own servers; these
//! commands work without one, and for servers that the hub has not started. The files are those of
//! `core::connection::CatalogStore`.

use switchboard_config::ConfiguredEntry;
use switchboard_core::connection::{CatalogOrigin, CatalogStore};

use crate::report::Failure;
use crate::surroundings::Caller;

/// The entries before the command changes any.
pub(super) struct EntriesBefore(Vec<ConfiguredEntry>);

// === impl EntriesBefore ===

impl EntriesBefore {
    pub(super) fn read(caller: &Caller) -> Self {
        Self(caller.workspace.configured_entries())
    }

    /// Deletes the catalogs of entries that are not there any more, or not as they were.
    pub(super) fn delete_former_catalogs(&self, caller: &Caller) -> Result<(), Failure> {
        let now = caller.workspace.configured_entries();
        let store = CatalogStore::in_state(&caller.surroundings.state_dir);
        for former in self.0.iter().filter(|entry| !now.contains(entry)) {
            let ConfiguredEntry { name, scope, start_folder, .. } = former;
            let origin = CatalogOrigin::new(name, *scope, start_folder);
            store.delete_origin(&origin).map_err(|error| {
                let message = format!("the kept catalog of `{name}` could not be deleted");
                Failure::new(message, error)
            })?;
        }
        Ok(())
    }
}
