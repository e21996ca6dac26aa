//! Tests of the message envelope, from the view of a server, of a client, and as properties.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod answers;
mod calls;
mod edits;
mod laws;
mod model;
mod peer;
mod texts;
mod truncated;
