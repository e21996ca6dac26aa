//! Skills: their list, the files of each, and the folders that hold them.
//!
//! Used by the conformance plugin.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use switchboard_plugin_sdk::{Context, Failure, Item, Plugin, Result, resource};

const EXTENSION: &str = "io.modelcontextprotocol/skills";
const FOLDER_TYPE: &str = "inode/directory";
const MANIFEST: &str = "skill://greeting/SKILL.md";

/// The files of the only skill.
const FILES: [(&str, &str); 2] = [
    (
        MANIFEST,
        "---\nname: greeting\ndescription: How to greet somebody\n---\n\nSay hello. See [tone](references/tone.md).\n",
    ),
    ("skill://greeting/references/tone.md", "Friendly, and short.\n"),
];

pub(super) fn items() -> Vec<Item> {
    vec![manifest::item(), tone::item()]
}

/// Adds the extension and its methods.
pub(super) fn with_skills(plugin: Plugin) -> Plugin {
    plugin
        .extension(EXTENSION, json!({ "directoryRead": true }))
        .method("skills/list", |_, _: &Context| Ok(json!({ "skills": [entry()] })))
        .method("skills/get", |params, _: &Context| get(&params))
        .method("resources/directory/read", |params, _: &Context| folder(&params))
}

/// How to greet somebody
#[resource(uri = "skill://greeting/SKILL.md", name = "greeting", mime = "text/markdown")]
fn manifest() -> &'static str {
    FILES[0].1
}

/// The tone of a greeting
#[resource(uri = "skill://greeting/references/tone.md", name = "tone.md", mime = "text/markdown")]
fn tone() -> &'static str {
    FILES[1].1
}

fn entry() -> Value {
    let files = FILES.map(|(uri, content)| {
        let digest = Sha256::digest(content).iter().fold("sha256:".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        json!({ "uri": uri, "digest": digest, "size": content.len() })
    });
    let frontmatter = json!({ "name": "greeting", "description": "How to greet somebody" });
    json!({ "uri": MANIFEST, "frontmatter": frontmatter, "resources": files })
}

fn get(params: &Value) -> Result<Value> {
    if params["uri"] == MANIFEST {
        return Ok(json!({ "skill": entry() }));
    }
    Err(Failure::invalid("no skill has this address"))
}

/// The entries of a folder, without those below.
fn folder(params: &Value) -> Result<Value> {
    let within = format!("{}/", params["uri"].as_str().unwrap_or_default());
    let mut children: Vec<Value> = Vec::new();
    for rest in FILES.iter().filter_map(|(uri, _)| uri.strip_prefix(&within)) {
        let (name, kind) =
            rest.split_once('/').map_or((rest, "text/markdown"), |(name, _)| (name, FOLDER_TYPE));
        let child = json!({ "uri": format!("{within}{name}"), "name": name, "mimeType": kind });
        if !children.contains(&child) {
            children.push(child);
        }
    }
    if children.is_empty() {
        return Err(Failure::invalid("this is no folder"));
    }
    Ok(json!({ "resources": children }))
}
