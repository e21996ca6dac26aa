//! Names of secrets, and the references to them in entries.
//!
//! Used by `expand`, `approval` and every command that takes or shows a name. It does not know values.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::expand::{TemplatePiece, split_template};
use crate::source::{ConfigNode, ConfigValue};

/// The longest name of a secret.
const MAX_NAME_BYTES: usize = 128;

/// Whether a secret may have this name: a letter or `_`, then letters, digits, `_`, `-` and `.`.
pub fn is_valid_secret_name(name: &str) -> bool {
    let mut chars = name.chars();
    name.len() <= MAX_NAME_BYTES
        && chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// The reference to a secret, as it stands in an entry.
pub fn secret_reference(name: &str) -> String {
    format!("${{secret:{name}}}")
}

/// The secrets that an entry, or the content of an item to approve, names.
pub fn secret_names(content: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect_from_json(content, &mut names);
    names
}

/// Collects the secrets that a tree names.
pub(crate) fn collect_secret_names(template: &ConfigNode, names: &mut BTreeSet<String>) {
    match &template.value {
        ConfigValue::String(text) => collect_names_in_text(text, names),
        ConfigValue::List(elements) => {
            for element in elements {
                collect_secret_names(element, names);
            }
        }
        ConfigValue::Object(members) => {
            for member in members {
                collect_secret_names(&member.value, names);
            }
        }
        _ => {}
    }
}

fn collect_from_json(content: &Value, names: &mut BTreeSet<String>) {
    match content {
        Value::String(text) => collect_names_in_text(text, names),
        Value::Array(elements) => {
            for element in elements {
                collect_from_json(element, names);
            }
        }
        Value::Object(members) => {
            for value in members.values() {
                collect_from_json(value, names);
            }
        }
        _ => {}
    }
}

/// Collects the secrets that a text names, which may be a whole file.
pub(crate) fn collect_names_in_text(text: &str, names: &mut BTreeSet<String>) {
    names.extend(split_template(text).into_iter().filter_map(|piece| match piece {
        TemplatePiece::Secret { name, .. } => Some(name.to_owned()),
        _ => None,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_form() {
        for name in ["A", "_a", "GITHUB_TOKEN", "team.api-key2"] {
            assert!(is_valid_secret_name(name), "{name}");
        }
        for name in ["", "2A", "a b", "a/b", "a:-b", "ä", ".a", &"A".repeat(129)] {
            assert!(!is_valid_secret_name(name), "{name}");
        }
    }

    #[test]
    fn every_string_of_an_entry_may_name_secrets() {
        let entry = serde_json::json!({
            "env": { "A": "${secret:ONE}", "B": "x${secret:TWO}y${secret:ONE}" },
            "args": ["--token=${secret:THREE}", "${NOT_ONE}"],
        });
        assert_eq!(secret_names(&entry), ["ONE", "THREE", "TWO"].map(str::to_owned).into());
    }
}
