//! Tests of the envelope from outside: tables of texts for servers and clients, and property tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod answers;
mod calls;
mod edits;
mod laws;
mod model;
mod peer;
mod texts;
mod truncated;
