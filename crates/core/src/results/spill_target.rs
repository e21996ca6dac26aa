//! Where files of results go, and whose they are.

use super::ResultStore;

/// A store and the one who may read what is put into it.
#[derive(Debug, Clone)]
pub struct SpillTarget {
    /// Where files go.
    pub store: ResultStore,
    /// Who may read them again.
    pub owner: String,
}
