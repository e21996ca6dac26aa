//! A legacy server on standard streams as a plain loop: it starts at once, needs little memory, and controls every
//! byte.
//!
//! Used by the programs `faulty` and `echo-server`.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)] // it serves tests, which it may fail

use std::io::{BufRead as _, Write as _};

use switchboard_wire::{
    envelope::{MessageOrBatch, Request, RpcMessage, parse},
    json::Raw,
};

/// A call of a tool.
#[derive(Debug)]
pub struct Called {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Raw,
    /// The request's id, as written.
    pub id: String,
    /// The progress token, as written; empty if the client wants no progress.
    pub token: String,
}

/// The reply to a call.
#[derive(Debug)]
pub enum Said {
    /// This result, as JSON.
    Result(String),
    /// No reply, or one that was written already.
    Nothing,
}

/// Serves until standard input ends. `tools` is the list, as JSON; `note` gets the method of each notification.
pub fn serve(tools: &str, mut call: impl FnMut(&Called) -> Said, mut note: impl FnMut(&str)) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        match parse(line.into()) {
            Ok(MessageOrBatch::One(RpcMessage::Request(request))) => {
                answer(tools, &request, &mut call);
            }
            Ok(MessageOrBatch::One(RpcMessage::Notification(told))) => note(&told.method()),
            _ => {}
        }
    }
}

fn answer(tools: &str, request: &Request, call: &mut impl FnMut(&Called) -> Said) {
    let id = request.id().to_string();
    let result = match request.method().as_ref() {
        "initialize" => GREETING.to_owned(),
        "ping" => "{}".to_owned(),
        "tools/list" => format!(r#"{{"tools":{tools}}}"#),
        "tools/call" => match call(&Called::of(request, &id)) {
            Said::Result(result) => result,
            Said::Nothing => return,
        },
        _ => return say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{UNKNOWN}}}"#)),
    };
    say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"lines","version":"1"}}"#;
const UNKNOWN: &str = r#"{"code":-32601,"message":"unknown"}"#;

/// Writes one line at once.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).unwrap();
    out.write_all(b"\n").unwrap();
    out.flush().unwrap();
}

/// A result with one text.
pub fn text(text: &str) -> Said {
    let text = Raw::string(text);
    Said::Result(format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#))
}

// === impl Called ===

impl Called {
    fn of(request: &Request, id: &str) -> Self {
        let params = request.params().unwrap_or_else(Raw::empty_object);
        let member = |path: &[&str]| params.get_path(path).ok().flatten();
        Self {
            name: member(&["name"]).and_then(|name| name.to_text()).unwrap_or_default(),
            arguments: member(&["arguments"]).unwrap_or_else(Raw::empty_object),
            id: id.to_owned(),
            token: member(&["_meta", "progressToken"]).map(|it| it.to_string()).unwrap_or_default(),
        }
    }

    /// A numeric argument; 0 if it is missing.
    pub fn number(&self, key: &str) -> usize {
        let value = self.arguments.get(key).ok().flatten();
        value.and_then(|value| value.decode().ok()).unwrap_or(0)
    }
}
