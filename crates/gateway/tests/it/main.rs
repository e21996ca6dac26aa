//! The bridge between clients and servers of every version; the faces against real connections.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bridge;
mod face;
mod tokens;
