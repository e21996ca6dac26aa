//! What runs while clients are served.
//!
//! The [`hub`] knows what is desired: configuration loaded, the organisation's catalogue fetched,
//! both kept current. The [`face`]s are how clients reach what a [`front`] has to serve. This crate
//! refuses to decide permissions, and leaves the meaning of every file to `switchboard-config`.
#![forbid(unsafe_code)]

pub mod admin;
pub mod attach;
pub mod bridge;
pub mod face;
pub mod front;
pub mod hub;
pub mod socket;
pub mod tokens;
