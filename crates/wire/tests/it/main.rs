//! The integration tests of `wire`, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on fails.

mod envelope;
mod http;
mod peers;
mod regression;
mod serving;
mod session;
mod suite;
mod ws;
