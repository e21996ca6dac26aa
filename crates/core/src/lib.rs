//! The engine of Switchboard: connections to MCP servers that stay up, one catalog, and one pipeline for calls.
//!
//! Used by the crates `sources`, `gateway`, `hub`, `plugin` and `cli`, and by programs that embed the engine. Given
//! the *desired* state of a workspace, the engine keeps connections that match it ([`connection`]), presents one
//! [`catalog`] of tools, prompts and resources, and takes every call through one pipeline ([`dispatch`]): schema,
//! hooks, permission, connection, questions, result limits. It has three verbs: [`Engine::apply`],
//! [`Engine::snapshot`], [`Engine::call`].
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! # use futures_util::future::BoxFuture;
//! # use switchboard_config::{HostContext, Platform, ResolveOptions, resolve_desired};
//! # use switchboard_core::engine::InProcessServer;
//! # use switchboard_process::ProcessGuard;
//! # use switchboard_wire::{envelope::RpcError, json::Raw};
//! # use switchboard_wire::server::{
//! #     ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServerDescription, ServerHandler,
//! # };
//! use switchboard_core::{CallEvent, Engine, EngineOptions, Request, Session, Workspace, WorkspaceId};
//!
//! # struct Clock;
//! # impl ServerHandler for Clock {
//! #     fn describe(&self) -> ServerDescription {
//! #         let raw = |text: &str| Raw::parse(text.to_owned()).unwrap();
//! #         ServerDescription { info: raw(r#"{"name":"clock","version":"1"}"#), capabilities: raw(r#"{"tools":{}}"#), instructions: None }
//! #     }
//! #     fn call<'a>(&'a self, asked: HandlerRequest, _: &'a RequestContext) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
//! #         let text = match &*asked.method {
//! #             "tools/list" => r#"{"tools":[{"name":"now","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}"#,
//! #             _ => r#"{"content":[{"type":"text","text":"noon"}]}"#,
//! #         };
//! #         Box::pin(async move { Ok(HandlerReply::Complete(Raw::parse(text).unwrap())) })
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! # let home = tempfile::tempdir().unwrap();
//! # let env = [("HOME".to_owned(), home.path().to_str().unwrap().to_owned())].into();
//! # let surroundings = HostContext::for_platform(Platform::Linux, env, home.path().into()).unwrap();
//! let desired = resolve_desired(&surroundings, &ResolveOptions::default()); // from configuration files
//! let workspace = Workspace {
//!     id: WorkspaceId::from_desired(&desired, &Arc::from([]), ""),
//!     environment: Arc::from([]),
//!     in_process: vec![InProcessServer::new("clock", Arc::new(Clock), ChangeBroadcaster::default())],
//! };
//! let engine = Engine::start(EngineOptions::new("my-agent", "1.0", ProcessGuard::none())).await;
//! engine.apply(&workspace, desired);
//!
//! // The catalog, once all servers have connected and listed their tools.
//! let snapshot = engine.settled_snapshot(&workspace.id, Duration::from_secs(5)).await.unwrap();
//! assert_eq!(snapshot.catalog.tools()[0].name, "mcp__clock__now");
//!
//! // A call, with a loop that answers its questions.
//! let caller = engine.attach(&workspace.id, Session::new("me")).unwrap();
//! let mut running = engine.call(&caller, Request::tool("mcp__clock__now", &Raw::empty_object()));
//! let outcome = loop {
//!     match running.next().await.unwrap() {
//!         CallEvent::Question(question) => {
//!             use switchboard_core::{dispatch::QuestionAnswer, permission::AnswerLifetime};
//!             question.answer(QuestionAnswer::Allow(AnswerLifetime::Once)); // no rule allows or denies the call
//!         }
//!         CallEvent::Done(outcome) => break outcome,
//!         _ => {} // progress, logs
//!     }
//! };
//! assert!(outcome.result.as_str().contains("noon"));
//! engine.shutdown().await;
//! # }
//! ```
//!
//! An agent loop needs less: see [`agent_loop`] and `examples/agent_loop.rs`.
//!
//! It does not load configuration (`switchboard_sources`), does not serve clients (`switchboard_gateway`) and shows
//! nothing to people (`switchboard_cli`, the hub's console).
#![forbid(unsafe_code)]

pub mod agent_loop;
pub mod audit;
pub mod catalog;
pub mod connection;
pub mod dispatch;
pub mod engine;
mod environment;
pub mod hooks;
pub mod ide;
pub mod logs;
pub mod permission;
pub mod principal;
pub mod principal_share;
pub mod problem;
pub mod remote;
pub mod results;
pub mod schema;
pub mod sealing;
pub mod skills;
pub mod traffic;

pub use dispatch::{CallError, CallEvent, CallOutcome, Request, RunningCall};
pub use engine::{
    Caller, Engine, EngineOptions, Session, Workspace, WorkspaceId, WorkspaceSnapshot,
};
pub use problem::{EngineProblem, EngineProblemKind};
