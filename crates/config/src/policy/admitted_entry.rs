//! Entries that passed the gate.

use std::ops::Deref;

use super::{Policy, PolicyDenial};
use crate::entry::Entry;

/// An expanded entry that policy lets run. Only `Policy::admit` makes one, and a policy stays inside this crate, so
/// whatever holds one has passed the gate: a server is [ready](crate::ServerReadiness::Ready) with nothing less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedEntry(Entry);

// === impl AdmittedEntry ===

impl Deref for AdmittedEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.0
    }
}

// === impl Policy ===

impl Policy {
    /// The gate of every server, whatever its source: a file, a bundle, a catalogue, a flag, an open editor, native
    /// plugins, this process itself.
    pub(crate) fn admit(&self, name: &str, entry: Entry) -> Result<AdmittedEntry, PolicyDenial> {
        self.judge(name, Some(&entry))?;
        Ok(AdmittedEntry(entry))
    }
}
