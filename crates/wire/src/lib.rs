//! MCP on the wire.

pub mod envelope;
pub mod json;
