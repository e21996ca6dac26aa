//! The two binary interfaces between a host and a plugin, as they lie in memory.
//!
//! Nothing here does anything: these are the types that `include/*.h` declares for C, and their layout is tested.

pub mod v1;
pub mod v2;
