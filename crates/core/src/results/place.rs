//! Where files of results go, and whose they are.

use super::Store;

/// A store and the one who may read what is put into it.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where files go.
    pub store: Store,
    /// Who may read them again.
    pub owner: String,
}
