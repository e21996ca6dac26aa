//! Test helper: the servers behind the gateway: that of the conformance suite, and tools for features that the suite
//! lacks. Used by `compatibility`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::rules::REACHED;
use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_core::engine::InProcessServer;
use switchboard_testkit::conformance::Subject;
use switchboard_testkit::older::{legacy_only, modern_only};
use switchboard_wire::Era;
use switchboard_wire::client::{InputRequest, ListKind};
use switchboard_wire::envelope::{Notification, RpcError};
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::meta::method;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, ClientFacts, HandlerReply, HandlerRequest,
    RequestContext, ServeOptions, ServerDescription, ServerHandler, serve,
};
use tokio::sync::watch;

/// The only era that the server has heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    Legacy,
    Modern,
}

pub(super) const BEHIND: [Behind; 2] = [Behind::Legacy, Behind::Modern];

/// The server.
#[derive(Default)]
pub(super) struct Server {
    subject: Subject,
    /// Calls of `hang` that are under way.
    hanging: watch::Sender<usize>,
    /// Calls of `repeat`.
    repeated: AtomicUsize,
    /// The member `n` of the notifications of an extension that clients sent.
    notified: watch::Sender<Vec<String>>,
}

/// The page of the tool `app`.
const APP_PAGE: &str = "ui://page/index.html";
/// The notification of the tool `move`.
pub(super) const MOVED: &str = "notifications/compatibility.example/moved";
/// The request that the tool `inquire` sends to its client.
pub(super) const INQUIRY: &str = "compatibility.example/ask";
/// The notification that clients send, and the request that waits for one.
pub(super) const HEARD: &str = "notifications/compatibility.example/heard";
pub(super) const AWAIT_HEARD: &str = "compatibility.example/await";
/// Lines of the long result.
const LINES: usize = 20_000;

// === impl Server ===

impl Server {
    pub(super) fn in_process(self: &Arc<Self>, behind: Behind) -> InProcessServer {
        let server = self.clone();
        InProcessServer::from_link("one", move || {
            let (ours, theirs) = link_pair();
            let server = server.clone();
            tokio::spawn(async move {
                let changes = server.changes().clone();
                // It ends with its link.
                let _ = serve(theirs, server, &changes, ServeOptions::default()).await;
            });
            Ok(match behind {
                Behind::Modern => modern_only(ours),
                Behind::Legacy => legacy_only(ours),
            })
        })
    }

    pub(super) fn changes(&self) -> &ChangeBroadcaster {
        self.subject.changes()
    }

    /// Waits until so many calls hang.
    pub(super) async fn until_hanging(&self, count: usize) {
        // The sender is ours.
        let _ = self.hanging.subscribe().wait_for(|hanging| *hanging == count).await;
    }

    /// How often `repeat` was called.
    pub(super) fn reached(&self) -> usize {
        self.repeated.load(Ordering::Relaxed)
    }

    async fn hang(&self) -> HandlerReply {
        self.hanging.send_modify(|count| *count += 1);
        let _counted = Hanging(&self.hanging);
        std::future::pending().await
    }

    async fn tools(
        &self,
        asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let HandlerReply::Complete(listed) = self.subject.call(asked, context).await? else {
            panic!("a list asks nothing")
        };
        let mut listed: serde_json::Value = listed.decode().unwrap();
        let more = [
            "visit",
            "structured",
            "book",
            "hang",
            "touch",
            "metadata",
            "move",
            "repeat",
            "inquire",
        ];
        let more = more.map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }));
        let uis = [
            ("app", json!({ "resourceUri": APP_PAGE })),
            ("reload", json!({ "visibility": ["app"] })),
        ];
        let uis = uis.map(|(name, ui)| {
            json!({ "name": name, "inputSchema": { "type": "object" }, "_meta": { "ui": ui } })
        });
        listed["tools"].as_array_mut().unwrap().extend(more.into_iter().chain(uis));
        Ok(done(&listed))
    }

    async fn tool(
        &self,
        asked: HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        let name = asked.params.get("name").ok().flatten().and_then(|name| name.to_text());
        match name.as_deref().unwrap_or_default() {
            "visit" => Ok(visit(&asked, context.version.era())),
            "structured" => Ok(done(&json!({ "content": [], "structuredContent": { "n": 1 } }))),
            "book" => {
                let lines: Vec<_> = (1..=LINES).map(|line| format!("line {line}")).collect();
                let text = lines.join("\n");
                Ok(done(&json!({ "content": [{ "type": "text", "text": text }] })))
            }
            "metadata" => {
                let meta = asked.params.get("_meta").ok().flatten().unwrap_or_else(Raw::null);
                Ok(done(&json!({ "content": [], "seen": meta })))
            }
            "move" => {
                let (moved, params) = (MOVED.to_owned(), Raw::parse(r#"{"n":2.50}"#).unwrap());
                self.changes().announce(ChangeNotification::Other(moved, params));
                Ok(done(&json!({ "content": [] })))
            }
            "repeat" => {
                self.repeated.fetch_add(1, Ordering::Relaxed);
                let text = format!("{REACHED} {}", asked.params);
                Ok(done(&json!({ "content": [{ "type": "text", "text": text }] })))
            }
            "inquire" => Ok(inquire(&asked)),
            // The members beside its name and arguments come back beside its content.
            "reload" => {
                let odd = Raw::parse("[1.0,1e400]").unwrap();
                let nothing = Raw::parse("[]").unwrap();
                let members = [("content", nothing), ("odd", odd), ("asked", asked.params)];
                Ok(HandlerReply::Complete(Raw::object(members)))
            }
            "hang" => Ok(self.hang().await),
            "touch" => {
                let changed = ChangeNotification::Resource("test://watched-resource".into());
                self.changes().announce(changed);
                self.changes().announce(ChangeNotification::List(ListKind::Tools));
                Ok(done(&json!({ "content": [] })))
            }
            _ => self.subject.call(asked, context).await,
        }
    }
}

struct Hanging<'a>(&'a watch::Sender<usize>);

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Sends the client to a page, then says how that went.
fn visit(asked: &HandlerRequest, era: Era) -> HandlerReply {
    let Some(answer) = asked.answers.first() else {
        let mut params = json!({ "mode": "url", "message": "Please sign.",
            "url": "https://example.com/sign" });
        // Modern servers know no such id.
        if era == Era::Legacy {
            params["elicitationId"] = json!("1");
        }
        let question = InputRequest {
            key: "visit".into(),
            method: method::ELICIT.into(),
            params: Raw::from_value(&params).unwrap(),
        };
        return HandlerReply::NeedsInput { questions: vec![question], state: None };
    };
    let said = answer.outcome.as_ref().map_or_else(|error| error.message.clone(), Raw::to_string);
    done(&json!({ "content": [{ "type": "text", "text": said }] }))
}

/// Asks the client with a method of an extension, then says what it answered.
fn inquire(asked: &HandlerRequest) -> HandlerReply {
    let Some(answer) = asked.answers.first() else {
        let params = Raw::parse(r#"{"odd":1.50}"#).unwrap();
        let question = InputRequest { key: "q".into(), method: INQUIRY.into(), params };
        return HandlerReply::NeedsInput { questions: vec![question], state: None };
    };
    let said = answer.outcome.as_ref().map_or_else(|error| error.message.clone(), Raw::to_string);
    done(&json!({ "content": [{ "type": "text", "text": said }] }))
}

fn done(value: &serde_json::Value) -> HandlerReply {
    HandlerReply::Complete(Raw::from_value(value).unwrap())
}

impl ServerHandler for Server {
    fn describe(&self) -> ServerDescription {
        let subject = self.subject.describe();
        let groups = ["extensions", "experimental", "tools"];
        let declared = groups.map(|group| [group, "compatibility.example"]);
        let declared = declared.each_ref().map(|path| JsonEdit::set(path, r#"{ "m":2.50 }"#));
        let capabilities = subject.capabilities.with_edits(&declared).unwrap();
        ServerDescription { capabilities, ..subject }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        context: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match &*asked.method {
                method::TOOLS_LIST => self.tools(asked, context).await,
                method::TOOLS_CALL => self.tool(asked, context).await,
                "compatibility.example/echo" => {
                    let declared = context.capabilities.clone();
                    let members = [("echo", asked.params), ("declared", declared)];
                    Ok(HandlerReply::Complete(Raw::object(members)))
                }
                AWAIT_HEARD => {
                    let n = asked.params.get("n").ok().flatten().unwrap_or_else(Raw::null);
                    let mut notified = self.notified.subscribe();
                    let heard =
                        notified.wait_for(|heard| heard.iter().any(|one| one == n.as_str()));
                    // The sender is the server's.
                    let _ = heard.await;
                    Ok(done(&json!({})))
                }
                method::RESOURCES_READ if matches!(asked.params.peek_path(&["uri"]), Ok(Some(uri)) if uri == quote(APP_PAGE)) => {
                    Ok(done(&json!({ "contents": [{ "uri": APP_PAGE,
                        "mimeType": "text/html;profile=mcp-app", "text": "<p>page</p>" }] })))
                }
                _ => self.subject.call(asked, context).await,
            }
        })
    }
    fn on_notification(&self, notification: Notification, _: Option<ClientFacts>) {
        let n = notification.params().and_then(|params| params.get("n").ok().flatten());
        if let Some(n) = n.filter(|_| notification.method() == HEARD) {
            self.notified.send_modify(|notified| notified.push(n.to_string()));
        }
    }
}
