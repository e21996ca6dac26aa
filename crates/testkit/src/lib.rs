//! Scripted peers and faults, for tests only.

pub mod fault;
pub mod http;
pub mod ws;
