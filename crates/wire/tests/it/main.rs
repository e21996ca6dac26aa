//! The integration tests of `wire`, in one binary.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start programs and read the variables of the run"
)]
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on fails.

mod envelope;
mod fairness;
mod http;
mod peers;
mod regression;
mod serving;
mod session;
mod suite;
mod ws;
