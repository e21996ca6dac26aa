//! Tests of the SDK through the function table that a host reads.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod items;
