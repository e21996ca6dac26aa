//! What an entry of `mcpServers` says, decoded and checked.
//!
//! An [`Entry`] is made of an *expanded* tree; the template stays a tree, for showing.

mod parse;
mod schema;
mod signature;
mod types;

pub(crate) use parse::{
    Completeness, decode_callback_port, decode_entry, decode_questions, decode_scopes, decode_tools,
};
pub use signature::ServerSignature;
pub use types::{
    ElicitationAnswerer, Entry, Grant, Ide, InheritEnv, OAuth, ProtocolEra, QuestionSettings,
    Remote, Share, Stdio, Tls, ToolFilter, Transport,
};
