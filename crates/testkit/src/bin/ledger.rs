//! A server on standard streams that writes each call into a file before it answers.
//!
//! Used by tests that count calls at the server, also of processes that were killed.

#![allow(clippy::unwrap_used, reason = "a program for tests")]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::Raw;
use switchboard_wire::server::{
    ChangeBroadcaster, HandlerReply, HandlerRequest, RequestContext, ServeOptions,
    ServerDescription, ServerHandler, serve, stdio,
};

/// The time from the line in the file to the answer: long enough for calls to be under way when a process is killed.
const WORK: Duration = Duration::from_millis(20);

/// The file, one line for each call.
struct Ledger(File);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let path = std::env::args_os().nth(1).unwrap();
    let ledger = Arc::new(Ledger(OpenOptions::new().create(true).append(true).open(path).unwrap()));
    let (writer, reader, writing) = stdio::stdio_link(1 << 20);
    let changes = ChangeBroadcaster::default();
    let serving = serve((writer, reader), ledger, &changes, ServeOptions::default());
    let (_, ()) = tokio::join!(serving, writing);
}

impl ServerHandler for Ledger {
    fn describe(&self) -> ServerDescription {
        ServerDescription {
            info: Raw::from(json!({ "name": "ledger", "version": "1" })),
            capabilities: Raw::from(json!({ "tools": {} })),
            instructions: None,
        }
    }

    fn call<'a>(
        &'a self,
        asked: HandlerRequest,
        _: &'a RequestContext,
    ) -> BoxFuture<'a, Result<HandlerReply, RpcError>> {
        Box::pin(async move {
            match &*asked.method {
                "tools/list" => {
                    let tool = json!({ "name": "enter", "inputSchema": { "type": "object" } });
                    Ok(HandlerReply::Complete(Raw::from(json!({ "tools": [tool] }))))
                }
                "tools/call" => {
                    let entry = asked.params.get_path(&["arguments", "entry"]).unwrap().unwrap();
                    let entry = entry.to_text().unwrap();
                    // One write: lines of several processes are not mixed.
                    (&self.0).write_all(format!("{entry}\n").as_bytes()).unwrap();
                    tokio::time::sleep(WORK).await;
                    let content = json!([{ "type": "text", "text": format!("entered {entry}") }]);
                    Ok(HandlerReply::Complete(Raw::from(json!({ "content": content }))))
                }
                other => {
                    let text = format!("no such method: {other}");
                    Err(RpcError::new(code::METHOD_NOT_FOUND, text))
                }
            }
        })
    }
}
