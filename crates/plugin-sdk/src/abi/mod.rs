//! The two binary interfaces between host and plugin, as they lie in memory.
//!
//! Used by `export` and by the host's worker. It holds types only, those that `include/*.h` declares for C;
//! tests check their layout.

pub mod v1;
pub mod v2;
