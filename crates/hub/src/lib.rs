//! The hub: the one long-running process of a user that holds the connections of all clients.
//!
//! [`socket`] is where the hub listens, [`attach`] is how `connect` reaches or starts it, [`admin`] is its API and
//! console over HTTP, [`AgentBridges`] opens the workspaces of single agents.
//!
//! Used by the commands `connect`, `serve`, `status`, `stop`, `questions`, `answer` and `ui` of `cli`, and by every
//! command that goes through a running hub. It does not parse arguments and does not print.
#![forbid(unsafe_code)]

pub mod admin;
mod agents;
pub mod attach;
pub mod socket;

pub use agents::AgentBridges;
