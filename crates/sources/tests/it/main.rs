//! Tests of sources with real files, real processes and a scripted connector catalog.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

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
