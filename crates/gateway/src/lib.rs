//! The gateway: an engine shown to MCP clients as one server.
//!
//! The [`face`]s are the transports that clients reach it by, with access control and limits. The [`bridge`] shows one
//! workspace of an engine to one client in the client's era. [`tokens`] are what clients of the network identify themselves
//! with. The hub uses this crate. It knows no configuration file, and decides no permission.
#![forbid(unsafe_code)]

pub mod bridge;
pub mod face;
pub mod tokens;
pub mod view_provider;
