//! The bridge between clients and servers of every version; the faces against real connections.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bridge;
mod face;
mod tokens;
