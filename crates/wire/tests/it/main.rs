//! Integration tests of the wire crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test that cannot go on fails

mod http;
mod ws;
