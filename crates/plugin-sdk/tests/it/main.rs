//! Integration tests of `plugin-sdk`: a plugin as its host sees it, through the ABI table.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod items;
