//! MCP on the wire: every version, every transport, client and server.
//!
//! Used by all crates that speak MCP. Messages are texts: [`envelope`] reads the kind and id of a
//! message and leaves its payload alone; [`json::splice`] changes the few members that must change.
//! A [`client`] session turns either era of the protocol into one neutral exchange; a [`server`]
//! session renders that exchange for its client. Below them are the transports: pipes of a child
//! process, [`http`], [`ws`], and [`link`] for any channel of whole messages.
//!
//! This crate does not know what servers are called, who configured them, or who may use them.
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
pub mod trace_context;
pub mod ws;

mod error;
mod pending_post;
mod remedy;
mod server_text;
mod version;

pub use error::{Error, Remedy, RemoteError, error_chain};
pub use version::{Era, UnknownVersion, Version};
