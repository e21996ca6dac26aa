//! The sources of a workspace against real files, real processes and a scripted catalogue.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod attach;
mod broken;
mod catalogue;
mod edits;
mod fixture;
mod logs;
mod managed;
mod secrets;
mod shutdown;
mod socket;
mod token_helper;
