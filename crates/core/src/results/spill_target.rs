//! The store of spilled results and the owner of new files, as one value.
//!
//! Used by `dispatch::stage`, which passes it to `limit_result`.

use super::ResultStore;

/// Where results are spilled to, and who may read them.
#[derive(Debug, Clone)]
pub struct SpillTarget {
    /// The store of the files.
    pub store: ResultStore,
    /// The principal that may read the files.
    pub owner: String,
}
