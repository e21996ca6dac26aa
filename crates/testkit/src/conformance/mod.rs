//! The server that the official conformance suite expects: the tools, prompts and resources that its scenarios call
//! by name.
//!
//! Used by the program `conformance-server` and by tests of `hub`. `lists/` holds its lists, each file as a server
//! would send it. It does not know eras and transports: its questions have the neutral form of `wire`, so that a tool
//! serves scenarios of both eras.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)] // it answers tests, which it may fail

mod asking;
mod clock;
mod content;
mod skills;
mod state;
mod tasks;
mod tools;

use std::fmt::Write as _;

use futures_util::future::BoxFuture;
use serde_json::Value;
use switchboard_wire::Era;
use switchboard_wire::client::ListKind;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, HandlerReply, HandlerRequest, RequestContext,
    ServerDescription, ServerHandler,
};

/// The server under test.
#[derive(Debug, Default)]
pub struct Subject {
    changes: ChangeBroadcaster,
    tasks: tasks::Tasks,
}

const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},
    "resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{},
    "tasks":{"cancel":{},"requests":{"tools":{"call":{}}}},
    "extensions":{"io.modelcontextprotocol/tasks":{},
        "io.modelcontextprotocol/skills":{"directoryRead":true}}}"#;

// === impl Subject ===

impl Subject {
    /// The broadcaster of its changes.
    pub fn changes(&self) -> &ChangeBroadcaster {
        &self.changes
    }

    fn announce(&self, list: ListKind) {
        self.changes.announce(ChangeNotification::List(list));
    }
}

impl ServerHandler for Subject {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(r#"{"name":"conformance-server","version":"1"}"#),
            capabilities: raw(CAPABILITIES),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match &*asked.method {
                method::TOOLS_LIST => tools::list(context),
                method::PROMPTS_LIST => listed(include_str!("lists/prompts.json")),
                method::RESOURCES_LIST => listed(include_str!("lists/resources.json")),
                method::TEMPLATES_LIST => listed(include_str!("lists/templates.json")),
                method::TOOLS_CALL => tools::call(self, &asked, context).await,
                method::PROMPTS_GET => content::prompt(&asked),
                method::RESOURCES_READ => content::read(&asked),
                method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => {
                    self.tasks.call(&asked, context)
                }
                method::TASKS_RESULT if context.version.era() == Era::Legacy => {
                    self.tasks.result(&asked).await
                }
                method::SKILLS_LIST => skills::list(),
                method::SKILLS_GET => skills::get(&asked),
                method::DIRECTORY_READ => skills::folder(&asked),
                method::COMPLETE => content::complete(&asked),
                other => Err(RpcError::new(code::METHOD_NOT_FOUND, other)),
            }
        })
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the last word of many fallible functions")]
fn listed(text: &str) -> Result<HandlerReply, RpcError> {
    Ok(HandlerReply::Complete(raw(text)))
}

/// A digest in hexadecimal.
fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A text member of the parameters; empty if it is missing.
fn text(asked: &HandlerRequest, path: &[&str]) -> String {
    let member = asked.params.get_path(path).ok().flatten();
    member.and_then(|member| member.to_text()).unwrap_or_default()
}

#[expect(clippy::unnecessary_wraps, reason = "the last word of many fallible functions")]
fn done(value: &Value) -> Result<HandlerReply, RpcError> {
    Ok(HandlerReply::Complete(Raw::from_value(value).unwrap()))
}

fn invalid(reason: impl Into<String>) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, reason)
}

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned()).unwrap()
}
