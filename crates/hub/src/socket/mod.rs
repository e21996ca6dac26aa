//! The hub's private socket: where it is, who may speak there, and how a conversation begins.
//!
//! One hub serves one user. It listens on a unix socket in a folder that only that user can enter, asks the system who
//! is calling, and reads one line, the [`ClientHello`], that says what is wanted: to speak MCP in a view of one's own, or a
//! word about the hub itself. What follows the answer is JSON-RPC, one message a line.
//!
//! A [`HubListener`] holds the hub's lock for as long as it lives, and whoever holds the lock is the hub. A socket without
//! the lock's holder is a leftover and is replaced; one that answers never is.
//!
//! This module refuses to know what is served ([`HubBackend`] does), and never starts a hub (that is [`crate::attach`]).

#![cfg(unix)]

mod admin_http;
mod call_errors;
mod cancellable_reader;
mod clients;
mod connection;
mod counting_view;
mod detach;
mod error;
mod hello;
mod hub_state;
mod listen;
mod options;
mod paths;
mod status;
mod usage;

pub(crate) use call_errors::{retry_error, unknown_outcome_error};
pub(crate) use usage::UsageLease;

pub use connection::is_own_user;
pub use detach::detach;
pub use error::SocketError;
pub use hello::{
    AttachedClient, ClientHello, HELLO_PROTOCOL_VERSION, HelloPurpose, HelloRefusal,
    HelloRefusalKind, HelloReply, HubInfo, HubStatus,
};
pub use hub_state::{HubBackend, HubEndReason};
pub(crate) use listen::try_lock;
pub use listen::{EndedHub, HubListener};
pub use options::{HubLifetime, ListenOptions};
pub use paths::{HubFolders, HubPaths};
pub use status::HubUsage;

/// The notification by which a hub takes leave of a client; its `why` is one of [`HubEndReason`]'s words. It never reaches
/// the program that `connect` speaks for.
pub const GOODBYE_METHOD: &str = "notifications/switchboard/goodbye";
