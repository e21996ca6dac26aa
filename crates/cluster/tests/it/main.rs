//! The cluster against real NATS servers, and against one that lies.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod credentials;
mod liars;
mod membership;
mod nats_away;
mod peers;
mod recorded;
mod sessions;
mod support;
mod table;
mod trio;
