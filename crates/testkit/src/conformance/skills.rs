//! The skill of the conformance server: its list entry, its files and its folders.
//!
//! Used by `conformance` and `content`.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::server::{HandlerReply, HandlerRequest};

use super::{done, hex, invalid, text};

/// The folder of the only skill.
const FOLDER: &str = "skill://greeting";

/// The files of the skill, relative to its folder.
const FILES: [(&str, &str, &str); 2] = [
    (
        "SKILL.md",
        "text/markdown",
        "---\nname: greeting\ndescription: How to greet somebody\n---\n\nSay hello. See [tone](references/tone.md).\n",
    ),
    ("references/tone.md", "text/markdown", "Friendly, and short.\n"),
];

const FOLDER_TYPE: &str = "inode/directory";

/// `skills/list`.
pub(super) fn list() -> Result<HandlerReply, RpcError> {
    done(&json!({ "skills": [entry()] }))
}

/// `skills/get`.
pub(super) fn get(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let own = entry();
    if own["uri"] == text(asked, &["uri"]) {
        return done(&json!({ "skill": own }));
    }
    Err(invalid("no skill has this address"))
}

/// A file of the skill, as `resources/read` has it.
pub(super) fn file(uri: &str) -> Option<Value> {
    let (path, kind, content) = FILES.into_iter().find(|(path, ..)| address(path) == uri)?;
    Some(json!({ "uri": address(path), "mimeType": kind, "text": content }))
}

/// `resources/directory/read`: the direct contents of a folder.
pub(super) fn folder(asked: &HandlerRequest) -> Result<HandlerReply, RpcError> {
    let uri = text(asked, &["uri"]);
    let within = format!("{uri}/");
    let below = FILES.into_iter().filter(|(path, ..)| address(path).starts_with(&within));
    let mut children: Vec<Value> = Vec::new();
    for (path, kind, _) in below {
        let rest = address(path)[within.len()..].to_owned();
        let (name, kind) =
            rest.split_once('/').map_or((&*rest, kind), |(name, _)| (name, FOLDER_TYPE));
        let child = json!({ "uri": format!("{within}{name}"), "name": name, "mimeType": kind });
        if !children.contains(&child) {
            children.push(child);
        }
    }
    if children.is_empty() {
        return Err(invalid("this is no folder"));
    }
    done(&json!({ "resources": children }))
}

fn entry() -> Value {
    let files = FILES.map(|(path, _, content)| {
        let digest = hex(&Sha256::digest(content));
        json!({ "uri": address(path), "digest": format!("sha256:{digest}"), "size": content.len() })
    });
    let frontmatter = json!({ "name": "greeting", "description": "How to greet somebody" });
    json!({ "uri": address("SKILL.md"), "frontmatter": frontmatter, "resources": files })
}

fn address(path: &str) -> String {
    format!("{FOLDER}/{path}")
}
