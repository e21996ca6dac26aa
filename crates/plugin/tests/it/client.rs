//! A small MCP client for the tests: requests out, answers and notifications in.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_plugin::PluginServer;
use switchboard_wire::{
    link::{LinkFrame, LinkReader, LinkWriter, pair},
    server::{ServeOptions, serve},
};

/// Longer than any call in the tests takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    writer: LinkWriter,
    reader: LinkReader,
    ids: u64,
    /// Messages that no call was waiting for.
    pub(crate) heard: VecDeque<Value>,
}

impl Client {
    /// A legacy client after its handshake.
    pub(crate) async fn greeted(plugins: &Arc<PluginServer>) -> Self {
        let (ours, theirs) = pair::link_pair();
        let (plugins, changes) = (plugins.clone(), plugins.changes());
        tokio::spawn(
            async move { serve(theirs, plugins, &changes, ServeOptions::default()).await },
        );
        let mut client = Self { writer: ours.0, reader: ours.1, ids: 0, heard: VecDeque::new() };
        let greeting = json!({ "protocolVersion": "2025-11-25", "clientInfo": {},
            "capabilities": { "elicitation": {} } });
        client.ask("initialize", greeting).await;
        client
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.writer.send(message.to_string().into()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        let frame = tokio::time::timeout(PATIENCE, self.reader.next()).await.expect("an answer");
        match frame.unwrap().expect("an open link") {
            LinkFrame::Text(text) => serde_json::from_str(&text).unwrap(),
            LinkFrame::Broken(broken) => panic!("{broken}"),
        }
    }

    /// Sends a request and returns its id.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Cancels a request.
    pub(crate) async fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id });
        self.send(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
        )
        .await;
    }

    /// Waits for the answer to a request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    /// Waits for the next answer to any request.
    pub(crate) async fn next_answer(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message.get("method").is_none() {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// A tool's result in a few words: its text, `mistake: …`, or `error: …`.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        words(&self.answer(id).await)
    }
}

pub(crate) fn words(answer: &Value) -> String {
    if let Some(message) = answer["error"]["message"].as_str() {
        return format!("error: {message}");
    }
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    let is_mistake = answer["result"]["isError"] == true;
    format!("{}{text}", if is_mistake { "mistake: " } else { "" })
}
