//! The engine: connections that stay up, one catalog, one way to call.
//!
//! Given what is *desired* in a workspace it keeps connections matching it ([`connection`]), presents one
//! [`catalog`] of tools, prompts and resources, and takes every call through one pipeline ([`dispatch`]):
//! schema, hooks, permission, connection, questions, result limits.
//!
//! This crate refuses to know where configuration comes from, how anything is shown, and who serves whom.

pub mod agent_loop;
pub mod catalog;
pub mod connection;
pub mod dispatch;
pub mod engine;
pub mod hooks;
pub mod ide;
pub mod logs;
pub mod permission;
pub mod problem;
pub mod results;
pub mod schema;

pub use dispatch::{CallError, CallEvent, Outcome, Request, Running};
pub use engine::{Caller, Engine, EngineOptions, Session, Snapshot, Workspace, WorkspaceId};
pub use problem::{Problem, ProblemKind};
