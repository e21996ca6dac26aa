//! Sessions of clients: which connections their calls take, their subscriptions, their calls in flight.
//!
//! Dispatch and the gateway's bridge use it through `Caller`. It decides no permission.

pub(super) mod bindings;
pub(super) mod caller;
pub(super) mod calls_in_flight;
pub(super) mod choose_connection;
pub(super) mod claims;
pub(super) mod list_sessions;
pub(super) mod local_call;
pub(super) mod log_levels;
pub(super) mod subscriptions;
