//! The supervisor: makes connections match the desired state.
//!
//! `Engine::apply` uses it. It starts and stops connections and reads their lists; it places no calls.

pub(super) mod applied;
pub(super) mod apply;
pub(super) mod era_store;
pub(super) mod listener;
pub(super) mod parse;
pub(super) mod pool;
