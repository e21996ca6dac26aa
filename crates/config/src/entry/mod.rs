//! Entries of `mcpServers`: types, decoding, schema and signature.
//!
//! Used by `resolve`, `import` and every crate that connects to servers. An [`Entry`] is decoded from an
//! *expanded* tree; for showing, the template stays a tree.

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
