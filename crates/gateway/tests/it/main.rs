//! The integration tests of `gateway`: the bridge between clients and servers of every version, and
//! the faces over real connections.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bridge;
mod face;
mod tokens;
