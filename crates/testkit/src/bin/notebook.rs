//! A server on standard streams that keeps notes in memory, and shows them in every way a server can: in results,
//! lists, resources, prompts, completions, notifications and logs.
//!
//! Used by tests that one principal does not see the data of another.

#![allow(clippy::unwrap_used, reason = "a program for tests")]

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_wire::client::ListKind;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, ClientFacts, HandlerReply, HandlerRequest,
    RequestContext, ServeOptions, ServerDescription, ServerHandler, SubscribedResource, serve,
    stdio,
};

/// The notes, oldest first. `write` adds one, announces it and logs it; `read` returns all notes.
#[derive(Default)]
struct Notebook {
    notes: Mutex<Vec<String>>,
    changes: ChangeBroadcaster,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (writer, reader, writing) = stdio::stdio_link(64 << 20);
    let notebook = Arc::new(Notebook::default());
    let changes = notebook.changes.clone();
    let serving = serve((writer, reader), notebook, &changes, ServeOptions::default());
    let (_, ()) = tokio::join!(serving, writing);
}

impl Notebook {
    fn write(&self, note: &str) -> Value {
        self.notes.lock().unwrap().push(note.to_owned());
        for list in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            self.changes.announce(ChangeNotification::List(list));
        }
        self.changes.announce(ChangeNotification::Resource("note://last".to_owned()));
        text("written")
    }

    fn each(&self, make: impl Fn(&str) -> Value) -> Vec<Value> {
        self.notes.lock().unwrap().iter().map(|note| make(note)).collect()
    }

    fn all(&self) -> String {
        self.notes.lock().unwrap().join(" ")
    }

    fn tools(&self) -> Value {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        let mut tools = vec![tool("write"), tool("read")];
        tools.extend(self.each(|note| tool(&format!("about-{note}"))));
        json!({ "tools": tools })
    }

    fn resources(&self) -> Value {
        let resource = |name: &str| json!({ "uri": format!("note://{name}"), "name": name });
        let mut resources = vec![resource("last")];
        resources.extend(self.each(resource));
        json!({ "resources": resources })
    }

    fn prompts(&self) -> Value {
        let prompt = |name: &str| json!({ "name": name, "arguments": [{ "name": "note" }] });
        let mut prompts = vec![prompt("letter")];
        prompts.extend(self.each(prompt));
        json!({ "prompts": prompts })
    }
}

impl ServerHandler for Notebook {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: raw(&json!({ "name": "notebook", "version": "1" })),
            capabilities: raw(&json!({
                "tools": { "listChanged": true }, "prompts": { "listChanged": true }, "completions": {}, "logging": {},
                "resources": { "subscribe": true, "listChanged": true },
            })),
            instructions: Some("write it down".to_owned()),
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        let member = |path: &[&str]| {
            asked.params.get_path(path).ok().flatten().and_then(|value| value.to_text())
        };
        let answer = match (&*asked.method, member(&["name"]).as_deref()) {
            ("tools/list", _) => self.tools(),
            ("resources/list", _) => self.resources(),
            ("resources/templates/list", _) => json!({ "resourceTemplates": [] }),
            ("prompts/list", _) => self.prompts(),
            ("tools/call", Some("write")) => {
                let note = member(&["arguments", "note"]).unwrap_or_default();
                let written = raw(&self.write(&note));
                return Box::pin(async move {
                    context.log_text("info", &note).await;
                    Ok(HandlerReply::Complete(written))
                });
            }
            ("tools/call", _) => text(&self.all()),
            ("resources/read", _) => {
                let uri = member(&["uri"]).unwrap_or_default();
                json!({ "contents": [{ "uri": uri, "text": self.all() }] })
            }
            ("prompts/get", _) => json!({ "messages": [
                { "role": "user", "content": { "type": "text", "text": self.all() } }] }),
            ("completion/complete", _) => {
                json!({ "completion": { "values": self.each(|note| json!(note)) } })
            }
            (other, _) => {
                let error = RpcError::new(code::METHOD_NOT_FOUND, other);
                return Box::pin(std::future::ready(Err(error)));
            }
        };
        Box::pin(std::future::ready(Ok(HandlerReply::Complete(raw(&answer)))))
    }

    fn subscribe<'a>(
        &'a self,
        _: &'a SubscribedResource,
        _: bool,
        _: &'a ClientFacts,
    ) -> BoxFuture<'a, Result<(), RpcError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn raw(value: &Value) -> Raw {
    Raw::from_value(value).unwrap()
}
