//! What a plugin on the SDK shows its host and answers, through the same table that a host reads.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod items;
