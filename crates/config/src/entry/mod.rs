//! What an entry of `mcpServers` says, decoded and checked.
//!
//! An [`Entry`] is made of an *expanded* tree; the template stays a tree, for showing.

mod parse;
mod schema;
mod signature;
mod types;

pub(crate) use parse::{Completeness, callback_port, entry, questions, scopes, tools};
pub use signature::Signature;
pub use types::{
    ElicitationAnswerer, Entry, Grant, Ide, InheritEnv, OAuth, ProtocolEra, QuestionSettings,
    Remote, Share, Stdio, Tls, ToolFilter, Transport,
};
