//! The hub's sources against real files, real processes and a scripted catalogue; the bridge between clients and
//! servers of every version; the faces and the socket against real connections.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod agents;
mod attach;
mod bridge;
mod broken;
mod catalogue;
mod compatibility;
mod edits;
mod face;
mod fixture;
mod logs;
mod managed;
mod secrets;
mod served;
mod shutdown;
mod socket;
mod token_helper;
mod tokens;
