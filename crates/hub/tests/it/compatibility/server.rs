//! Test helper: the servers behind the gateway: that of the conformance suite, and tools for features that the suite
//! lacks. Used by `compatibility`.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_core::engine::InProcessServer;
use switchboard_testkit::conformance::Subject;
use switchboard_testkit::older::{legacy_only, modern_only};
use switchboard_wire::Era;
use switchboard_wire::client::{InputRequest, ListKind};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;
use switchboard_wire::link::pair::link_pair;
use switchboard_wire::meta::method;
use switchboard_wire::server::{
    ChangeBroadcaster, ChangeNotification, HandlerReply, HandlerRequest, RequestContext,
    ServeOptions, ServerDescription, ServerHandler, serve,
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
}

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
        let more = ["visit", "structured", "book", "hang", "touch"];
        let more = more.map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }));
        listed["tools"].as_array_mut().unwrap().extend(more);
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

fn done(value: &serde_json::Value) -> HandlerReply {
    HandlerReply::Complete(Raw::from_value(value).unwrap())
}

impl ServerHandler for Server {
    fn describe(&self) -> ServerDescription {
        self.subject.describe()
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
                _ => self.subject.call(asked, context).await,
            }
        })
    }
}
