//! The supervisor: makes connections match the desired state.
//!
//! Used by `Engine::apply`. It starts and stops connections and parses their lists; it makes no calls.

pub(super) mod applied;
pub(super) mod apply;
pub(super) mod catalog_keeper;
pub(super) mod era_store;
pub(super) mod listener;
pub(super) mod parse;
pub(super) mod pool;
