//! The JSON-RPC envelope: which message this is, whose, and where its payload stands.
//!
//! [`parse`] reads a text once and remembers spans; `params`, `result` and `error` stay text.
//! What cannot be read is a [`MalformedMessage`] that still knows the id where one could be made out, so
//! that the call concerned fails and nothing else does.
//!
//! The envelope does not know MCP: no method names, no versions.

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
