//! The engine at its boundaries.

mod agent_loop;
mod catalog;
mod connection;
mod engine;
mod faults;
mod hooks;
mod logs;
mod permission;
mod results;
mod schema;
