//! What runs while clients are served.
//!
//! So far this is the [`hub`]'s knowledge of what is desired: configuration loaded, the organisation's catalogue
//! fetched, both kept current. This crate refuses to decide permissions, and leaves the meaning of every file to
//! `switchboard-config`.
#![forbid(unsafe_code)]

pub mod bridge;
pub mod front;
pub mod hub;
