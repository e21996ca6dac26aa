//! Integration tests of `gateway`: the bridge between clients and servers of all versions, the faces over real
//! connections, and tokens.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bridge;
mod face;
mod tokens;
