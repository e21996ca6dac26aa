//! What the upstream answers, whichever way it is reached.

use std::fmt::Write as _;

use switchboard_wire::envelope::{Message, Parsed, parse};

/// The tools: `echo`, `large`, and as many more as asked for.
pub(super) struct Answers {
    tools: String,
    large: String,
}

/// The size of a large result.
const LARGE: usize = 1 << 20;

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"upstream","version":"1"}}"#;

// === impl Answers ===

impl Answers {
    pub(super) fn new(more: usize) -> Self {
        let schema = r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say."}},"required":["text"]}"#;
        let mut tools = format!(
            r#"{{"tools":[{{"name":"echo","description":"Says what it was told.","inputSchema":{schema}}},{{"name":"large","description":"Says much.","inputSchema":{{"type":"object"}}}}"#
        );
        for number in 0..more {
            let _ = write!(
                tools,
                r#",{{"name":"tool_{number}","description":"The tool of number {number}, of which there are many.","inputSchema":{schema}}}"#
            );
        }
        tools.push_str("]}");
        let large = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(LARGE));
        Self { tools, large }
    }

    /// The answer to a message, appended; nothing for what wants none.
    pub(super) fn answer(&self, text: &str, out: &mut Vec<u8>) {
        let Ok(Parsed::One(Message::Request(request))) = parse(text.to_owned().into()) else {
            return;
        };
        let echoed;
        let result = match request.method().as_ref() {
            "initialize" => GREETING,
            "tools/list" => &self.tools,
            "tools/call" => {
                let params = request.params().unwrap();
                if params.get("name").unwrap().is_some_and(|name| name.as_str() == r#""large""#) {
                    &self.large
                } else {
                    let said = params.get_path(&["arguments", "text"]).unwrap().unwrap();
                    echoed = format!(r#"{{"content":[{{"type":"text","text":{said}}}]}}"#);
                    &echoed
                }
            }
            "ping" => "{}",
            _ => {
                let id = request.id();
                out.extend_from_slice(
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"unknown"}}}}"#)
                        .as_bytes(),
                );
                return;
            }
        };
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(request.id().as_str().as_bytes());
        out.extend_from_slice(br#","result":"#);
        out.extend_from_slice(result.as_bytes());
        out.push(b'}');
    }
}
