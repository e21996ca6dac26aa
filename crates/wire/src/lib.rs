//! MCP on the wire: every version, every transport, client and server.
//!
//! Messages are texts. [`envelope`] tells whose a message is and leaves its payload alone;
//! [`json::splice`] changes the few members that must change. A [`client`] session turns either era
//! of the protocol into one neutral exchange; a [`server`] session renders the same exchange for
//! whoever is connected. Below them are the transports: pipes of a child process, [`http`], [`ws`],
//! and [`link`] for anything that carries whole messages.
//!
//! This crate refuses to know what servers are called, who configured them, and who may use them.
#![forbid(unsafe_code)]

pub mod client;
pub mod envelope;
pub mod http;
pub mod json;
pub mod link;
pub mod meta;
pub mod queue;
pub mod sanitize;
pub mod server;
pub mod ws;

mod error;
mod pending_post;
mod placed;
mod remedy;
mod spread;
mod version;

pub use error::{Error, Remedy, RemoteError, error_chain};
pub use placed::placed;
pub use version::{Era, UnknownVersion, Version};
