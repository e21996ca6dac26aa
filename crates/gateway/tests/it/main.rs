//! The integration tests of `gateway`: the bridge between clients and servers of every version, and
//! the faces over real connections.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bridge;
mod face;
mod tokens;
