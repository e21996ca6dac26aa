//! MCP on the wire.

pub mod process;
