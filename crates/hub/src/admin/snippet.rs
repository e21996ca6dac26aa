//! Parses configuration that a person pastes: one entry, or a file with a list of servers.
//!
//! Used by `files` for `POST /servers`. It does not write files.

use serde_json::{Value, json};
use switchboard_config::{SourceOrigin, parse_entry};

use super::problem::AdminProblem;

/// The members under which clients' files list their servers.
const SERVER_LIST_KEYS: [&str; 3] = ["mcpServers", "servers", "context_servers"];

/// The servers in a text, each with its name. A single entry needs `name`.
pub(super) fn parse_snippet(
    text: &str,
    name: Option<&str>,
) -> Result<Vec<(String, Value)>, AdminProblem> {
    let value = parse_entry(&SourceOrigin::text("the snippet"), text)
        .map_err(|problem| AdminProblem::malformed(format!("the snippet: {}", problem.message)))?;
    let listed = SERVER_LIST_KEYS.iter().find_map(|list| value[*list].as_object());
    let servers: Vec<_> = match (listed, name) {
        (Some(listed), _) => {
            listed.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect()
        }
        (None, Some(name)) => vec![(name.to_owned(), value)],
        (None, None) => return Err(unnamed_problem()),
    };
    if servers.is_empty() {
        return Err(AdminProblem::malformed("there is no server in the snippet"));
    }
    Ok(servers)
}

/// The entry of a remote server with this URL.
pub(super) fn entry_from_url(url: &str) -> Result<Value, AdminProblem> {
    let parsed = url::Url::parse(url.trim());
    match parsed.as_ref().map(url::Url::scheme) {
        Ok("http" | "https") => Ok(json!({ "type": "http", "url": url.trim() })),
        Ok("ws" | "wss") => Ok(json!({ "type": "ws", "url": url.trim() })),
        _ => Err(AdminProblem::malformed("that is no address of a server")
            .with_hint("give one such as https://example.com/mcp")),
    }
}

fn unnamed_problem() -> AdminProblem {
    AdminProblem::unnamed()
        .with_hint("give one beside the snippet, or paste it with `mcpServers` around it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_paste() {
        let entry = json!({ "command": "x" });
        for (text, name, expected) in [
            (r#"{"mcpServers": {"a": {"command": "x"}}}"#, None, Some("a")),
            (r#"{"servers": {"a": {"command": "x"}} /* as pasted */,}"#, Some("b"), Some("a")),
            (r#"{"command": "x"}"#, Some("b"), Some("b")),
            (r#"{"command": "x"}"#, None, None),
            (r#"{"mcpServers": {}}"#, Some("b"), None),
            ("x", Some("b"), None),
        ] {
            let read = parse_snippet(text, name).ok();
            let expected = expected.map(|name| vec![(name.to_owned(), entry.clone())]);
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(entry_from_url("wss://host/x").unwrap()["type"], "ws");
        assert!(entry_from_url("file:///etc/passwd").is_err());
    }
}
