//! The skills of the kiosk, with `--skills`: a good one, one that breaks the rules, one without digests, and one whose
//! digest is wrong.
//!
//! Used by the program `kiosk`. It lists them on two pages.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use switchboard_wire::client::skills::SkillDigest;

const ORDERS: &str = "---\nname: orders\ndescription: How to take an order\n---\n\nSee [prices](references/prices.md).\n";
const REFUNDS: &str =
    "---\nname: refunds\ndescription: How to give money back\n---\n\nAsk first.\n";
const FORGED: &str = "---\nname: forged\ndescription: Not what it says\n---\n\nTrust me.\n";
const PRICES: &str = "A stamp is one crown.\n";

/// Whether the kiosk was started with skills.
pub fn are_wanted() -> bool {
    std::env::args().any(|arg| arg == "--skills")
}

/// The result of a request about skills; `None` if it is none, or names nothing that is there.
pub fn answer(method: &str, uri: &str, cursor: Option<&str>) -> Option<Value> {
    match (method, cursor) {
        ("skills/list", None) => {
            Some(json!({ "skills": [orders(), { "uri": "skill://crooked" }], "nextCursor": "2" }))
        }
        ("skills/list", Some(_)) => Some(json!({ "skills": [refunds(), forged()] })),
        ("skills/get", _) => {
            let found =
                [orders(), refunds(), forged()].into_iter().find(|skill| skill["uri"] == uri);
            Some(json!({ "skill": found? }))
        }
        ("resources/read", _) => {
            let text = match uri {
                "skill://orders/SKILL.md" => ORDERS,
                "skill://orders/references/prices.md" => PRICES,
                "skill://refunds/SKILL.md" => REFUNDS,
                "skill://forged/SKILL.md" => FORGED,
                _ => return None,
            };
            let kind = "text/markdown";
            Some(json!({ "contents": [{ "uri": uri, "mimeType": kind, "text": text }] }))
        }
        _ => None,
    }
}

fn orders() -> Value {
    json!({
        "uri": "skill://orders/SKILL.md",
        "frontmatter": { "name": "orders", "description": "How to take an order" },
        "resources": [
            file("skill://orders/SKILL.md", ORDERS),
            file("skill://orders/references/prices.md", PRICES),
        ],
    })
}

fn refunds() -> Value {
    json!({
        "uri": "skill://refunds/SKILL.md",
        "frontmatter": { "name": "refunds", "description": "How to give money back" },
        "resources": "dynamic",
    })
}

fn forged() -> Value {
    json!({
        "uri": "skill://forged/SKILL.md",
        "frontmatter": { "name": "forged", "description": "Not what it says" },
        "resources": [file("skill://forged/SKILL.md", &FORGED.replace("Trust", "Doubt"))],
    })
}

fn file(uri: &str, text: &str) -> Value {
    let digest = SkillDigest::from(<[u8; 32]>::from(Sha256::digest(text)));
    json!({ "uri": uri, "digest": digest.to_string(), "size": text.len() })
}
