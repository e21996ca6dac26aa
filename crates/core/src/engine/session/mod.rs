//! Sessions of clients: which connections their calls use, their subscriptions, their calls in flight.
//!
//! Used by `dispatch` and the gateway's bridge through `Caller`. It does not decide permissions.

pub(super) mod bindings;
pub(super) mod caller;
pub(super) mod calls_in_flight;
pub(super) mod choose_connection;
pub(super) mod claims;
pub(super) mod first_session;
pub(super) mod list_sessions;
pub(super) mod local_call;
pub(super) mod log_levels;
pub(super) mod subscriptions;
