//! The hub's sources against real files, real processes and a scripted catalogue; the bridge between clients and servers.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bridge;
mod broken;
mod catalogue;
mod edits;
mod fixture;
mod logs;
mod managed;
mod secrets;
mod served;
mod shutdown;
mod token_helper;
