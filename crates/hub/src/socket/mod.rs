//! The hub's private socket: its path, its peer check, and the hello that begins each connection.
//!
//! One hub serves one user. It listens on a unix socket in a folder that only that user can enter, asks the kernel for
//! the peer's user id, and reads one line, the [`ClientHello`], that says the purpose: MCP in a view of the client's
//! own, the admin API, or one request about the hub (status, stop, hand over). After the reply the line protocol is
//! JSON-RPC, one message a line.
//!
//! A [`HubListener`] holds the hub's lock for as long as it lives; the process with the lock is the hub. A socket
//! without a lock holder is a leftover and is replaced; a socket that answers is never replaced.
//!
//! Used by the commands `hub` and `serve`, and by [`crate::attach`] for paths and hello. It does not know which views
//! are served ([`HubBackend`] does), and never starts a hub ([`crate::attach`] does).

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
pub use listen::{EndedHub, HubListener, wait_for_ending_hub};
pub use options::{HubLifetime, ListenOptions};
pub use paths::{HubFolders, HubPaths, hub_files};
pub use status::HubUsage;

/// The notification that a hub sends to a client before it closes; `why` is one of the words of [`HubEndReason`].
/// `connect` consumes it: the client behind `connect` never sees it.
pub const GOODBYE_METHOD: &str = "notifications/switchboard/goodbye";
