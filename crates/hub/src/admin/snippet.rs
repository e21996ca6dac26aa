//! What people paste: an entry, or a file's worth of them, as clients' documentation shows it.

use serde_json::{Value, json};
use switchboard_config::{Origin, parse_entry};

use super::problem::Problem;

/// The members that files of clients keep their servers in.
const LISTS: [&str; 3] = ["mcpServers", "servers", "context_servers"];

/// The servers in a text, each with its name. An entry alone needs one.
pub(super) fn read(text: &str, name: Option<&str>) -> Result<Vec<(String, Value)>, Problem> {
    let value = parse_entry(&Origin::text("the snippet"), text)
        .map_err(|problem| Problem::malformed(format!("the snippet: {}", problem.message)))?;
    let listed = LISTS.iter().find_map(|list| value[*list].as_object());
    let servers: Vec<_> = match (listed, name) {
        (Some(listed), _) => {
            listed.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect()
        }
        (None, Some(name)) => vec![(name.to_owned(), value)],
        (None, None) => return Err(unnamed()),
    };
    if servers.is_empty() {
        return Err(Problem::malformed("there is no server in the snippet"));
    }
    Ok(servers)
}

/// The entry of a server that is somewhere else.
pub(super) fn of_url(url: &str) -> Result<Value, Problem> {
    let parsed = url::Url::parse(url.trim());
    match parsed.as_ref().map(url::Url::scheme) {
        Ok("http" | "https") => Ok(json!({ "type": "http", "url": url.trim() })),
        Ok("ws" | "wss") => Ok(json!({ "type": "ws", "url": url.trim() })),
        _ => Err(Problem::malformed("that is no address of a server")
            .hinted("give one such as https://example.com/mcp")),
    }
}

fn unnamed() -> Problem {
    Problem::unnamed()
        .hinted("give one beside the snippet, or paste it with `mcpServers` around it")
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
            let read = read(text, name).ok();
            let expected = expected.map(|name| vec![(name.to_owned(), entry.clone())]);
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(of_url("wss://host/x").unwrap()["type"], "ws");
        assert!(of_url("file:///etc/passwd").is_err());
    }
}
