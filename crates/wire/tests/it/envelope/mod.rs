//! The envelope from outside: what each text comes to, for a server, for a client, and by law.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod answers;
mod calls;
mod edits;
mod laws;
mod model;
mod peer;
mod texts;
mod truncated;
