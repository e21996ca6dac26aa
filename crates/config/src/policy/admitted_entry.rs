//! Entries that policy has admitted.
//!
//! Used by `resolve`, which puts them into ready servers.

use std::ops::Deref;

use super::{Policy, PolicyDenial};
use crate::entry::Entry;

/// An expanded entry that policy allows. Only `Policy::admit` makes one, and a policy stays inside this
/// crate, so every holder knows that it was admitted: a server is [ready](crate::ServerReadiness::Ready) with
/// nothing less.
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
    /// Admits an entry of any source: a file, a bundle, a connector catalog, an argument, an open editor,
    /// native plugins, this process itself.
    pub(crate) fn admit(&self, name: &str, entry: Entry) -> Result<AdmittedEntry, PolicyDenial> {
        self.judge(name, Some(&entry))?;
        Ok(AdmittedEntry(entry))
    }
}
