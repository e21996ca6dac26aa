//! The JSON-RPC envelope: the kind and id of a message, and the position of its payload.
//!
//! Used by all sessions and links. [`parse`] reads a text once and stores spans; `params`, `result` and `error` stay
//! text. A text that cannot be parsed becomes a [`MalformedMessage`] with the id, if one could be read, so that only
//! the call concerned fails. It does not know MCP: no method names, no versions.

mod id;
mod malformed;
mod message;
mod parse;
mod salvage;

pub(crate) use id::parse_own_id;
pub use id::{Id, IdKey};
pub use malformed::{MalformedKind, MalformedMessage, MalformedShape};
pub use message::{Notification, Request, Response, ResponseOutcome, RpcError, RpcMessage, code};
pub use parse::{MAX_BATCH_MESSAGES, MessageOrBatch, parse};
pub use salvage::{EnvelopeSalvager, SalvagedEnvelope};
