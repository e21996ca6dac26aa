//! Entries of `mcpServers`: types, decoding, schema and signature.
//!
//! Used by `resolve`, `import` and every crate that connects to servers. An [`Entry`] is decoded from an
//! *expanded* tree; for showing, the template stays a tree.

mod credential;
mod json;
mod parse;
mod schema;
mod signature;
mod types;

pub use credential::EntryCredential;
pub(crate) use parse::{
    Completeness, decode_callback_port, decode_entry, decode_questions, decode_scopes,
    decode_start, decode_tools,
};
pub use signature::ServerSignature;
pub(crate) use signature::canonical_url;
pub use types::{
    ElicitationAnswerer, Entry, IdeTransport, InheritEnv, OAuth, OAuthGrant, ProtocolEra,
    QuestionSettings, RemoteTransport, ServerSharing, SignInOwner, StartPolicy, StdioTransport,
    TlsFiles, ToolFilter, Transport,
};
