//! MCP on the wire.

pub mod http;
pub mod ws;
