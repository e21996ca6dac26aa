//! Scripted MCP servers over HTTP, for the session tests.

use switchboard_testkit::http::{Reply, Request, Scripted};
use switchboard_wire::{
    envelope::{MessageOrBatch, RpcMessage, parse},
    json::Raw,
};

/// One HTTP request, and the message in it.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) http: Request,
    /// The method of the message, or `GET`, `DELETE`, `response`.
    pub(crate) method: String,
    pub(crate) id: String,
    pub(crate) params: Raw,
}

impl Asked {
    pub(crate) fn new(http: Request) -> Self {
        let (method, id, params) = match parse(http.text().to_owned().into()) {
            Ok(MessageOrBatch::One(RpcMessage::Request(request))) => {
                (request.method().into_owned(), request.id().to_string(), request.params())
            }
            Ok(MessageOrBatch::One(RpcMessage::Notification(note))) => {
                (note.method().into_owned(), String::new(), note.params())
            }
            Ok(_) => ("response".to_owned(), String::new(), None),
            Err(_) => (http.method.clone(), String::new(), None),
        };
        Self { http, method, id, params: params.unwrap_or_else(Raw::empty_object) }
    }

    /// The response with this result, as text.
    pub(crate) fn response(&self, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id)
    }

    /// A whole body with this result.
    pub(crate) fn result(&self, result: &str) -> Reply {
        Reply::json(200, self.response(result))
    }

    /// A whole body with an error of this code.
    pub(crate) fn error(&self, status: u16, code: i64) -> Reply {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":"no"}}}}"#,
            self.id
        );
        Reply::json(status, text)
    }

    /// The called tool.
    pub(crate) fn tool(&self) -> String {
        let name = self.params.get("name").ok().flatten();
        name.and_then(|name| name.to_text()).unwrap_or_default()
    }
}

/// A server with the answers of `answer`.
pub(crate) async fn web(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |request| std::future::ready(answer(&Asked::new(request)))).await
}

/// The answers of a 2025-11-25 server without a GET stream, except to calls.
pub(crate) fn legacy(asked: &Asked, capabilities: &str) -> Reply {
    match &*asked.method {
        "server/discover" => asked.error(404, -32601),
        "initialize" => {
            let hello = super::initialized("2025-11-25")
                .replace(r#""capabilities":{}"#, &format!(r#""capabilities":{capabilities}"#));
            asked.result(&hello).header("mcp-session-id", "one")
        }
        "GET" => Reply::empty(405),
        "DELETE" => Reply::empty(200),
        _ if asked.id.is_empty() => Reply::empty(202),
        _ => asked.result("{}"),
    }
}

/// The answers of a modern server without change notifications, except to calls.
pub(crate) fn modern(asked: &Asked, tools: &str) -> Reply {
    match &*asked.method {
        "server/discover" => {
            asked.result(r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#)
        }
        "tools/list" => asked.result(&format!(r#"{{"tools":{tools}}}"#)),
        _ => asked.result("{}"),
    }
}

/// The methods of all requests to a server, in order.
pub(crate) fn methods(server: &Scripted) -> Vec<String> {
    let requests = server.requests().into_iter();
    requests.map(|request| Asked::new(request).method).collect()
}
