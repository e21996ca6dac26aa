//! Scripted peers, faults and helpers for tests and benchmarks.
//!
//! Used by the tests of all crates. It is no part of the product.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs, read variables and queue without a limit"
)]

pub mod awake;
pub mod benchmarks;
pub mod conformance;
pub mod deadline;
pub mod face;
pub mod fault;
pub mod fixture;
pub mod http;
pub mod http1;
pub mod keychain;
pub mod kiosk_skills;
pub mod lines;
#[cfg(feature = "nats")]
pub mod nats;
pub mod older;
pub mod openid;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod programs;
pub mod scripted;
pub mod signing;
pub mod ws;

pub use programs::guard_path;
