//! The gateway: an engine shown to MCP clients as one server.
//!
//! Used by the hub and by `switchboard serve` and `connect`. The [`face`]s are the transports that clients use, with
//! access control and limits. The [`bridge`] shows one workspace of an engine to one client in the client's era.
//! [`tokens`] identify clients from the network. It knows no configuration file, and decides no permission.
#![forbid(unsafe_code)]

pub mod bridge;
pub mod face;
pub mod replica_tag;
pub mod tokens;
pub mod view_provider;
