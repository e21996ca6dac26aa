//! `settings.json` of Zed: `context_servers`, whose command was once an object of its own.

use super::Read;
use super::entries::{Builder, each, left_behind};
use super::translate::Translate;
use crate::source::{Node, Value};

pub(super) fn servers(node: &Node) -> Read {
    each(node.get("context_servers"), |name, theirs, problems| {
        let command = theirs.get("command");
        let mut entry = Builder::new(theirs, &Translate::Nothing);
        match command.map(|command| &command.value) {
            Some(Value::Object(_)) => {
                let mut inner = Builder::new(command?, &Translate::Nothing);
                let mut made = inner.take("path", "command").keep(&["args", "env"]).finish();
                if theirs.get("enabled").and_then(Node::as_bool) == Some(false) {
                    made["disabled"] = true.into();
                }
                return Some(made);
            }
            Some(_) => entry.keep(&["command", "args", "env"]),
            None if entry.has("url") => entry.set("type", "http").keep(&["url", "headers"]),
            None => {
                problems.push(left_behind(
                    name,
                    "an extension of the editor provides it",
                    &theirs.at,
                ));
                return None;
            }
        };
        Some(entry.enabled().finish())
    })
}
