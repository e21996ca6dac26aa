//! What changed since something was approved.

use serde::Serialize;
use serde_json::Value;

use crate::mask::{MASK, masked};

/// One difference between what was approved and what stands there now. Secrets are masked on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The member, as a path such as `args[1]`.
    pub field: String,
    /// What it was; absent where it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What it is; absent where it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// A value beside its masked form.
#[derive(Clone, Copy)]
struct Side<'a> {
    raw: &'a Value,
    shown: Option<&'a Value>,
}

impl Side<'_> {
    fn member(self, name: &str) -> Option<Self> {
        let shown = self.shown.and_then(|shown| shown.get(name));
        self.raw.get(name).map(|raw| Self { raw, shown })
    }

    fn element(self, index: usize) -> Option<Self> {
        let shown = self.shown.and_then(|shown| shown.get(index));
        self.raw.get(index).map(|raw| Self { raw, shown })
    }

    fn to_value(self) -> Value {
        self.shown.cloned().unwrap_or_else(|| MASK.into())
    }
}

/// The differences between two contents. Values are compared as written and shown masked.
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let (shown_before, shown_after) = (masked(before), masked(after));
    let mut found = Vec::new();
    let before = Side { raw: before, shown: Some(&shown_before) };
    let after = Side { raw: after, shown: Some(&shown_after) };
    compare("", Some(before), Some(after), &mut found);
    found
}

fn compare(
    field: &str,
    before: Option<Side<'_>>,
    after: Option<Side<'_>>,
    found: &mut Vec<Change>,
) {
    match (before, after) {
        (Some(old), Some(new)) if old.raw == new.raw => {}
        (Some(old), Some(new)) if old.raw.is_object() && new.raw.is_object() => {
            for name in names(old.raw, new.raw) {
                let path = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                compare(&path, old.member(&name), new.member(&name), found);
            }
        }
        (Some(old), Some(new)) if old.raw.is_array() && new.raw.is_array() => {
            let length = |value: &Value| value.as_array().map_or(0, Vec::len);
            for index in 0..length(old.raw).max(length(new.raw)) {
                compare(
                    &format!("{field}[{index}]"),
                    old.element(index),
                    new.element(index),
                    found,
                );
            }
        }
        (before, after) => found.push(Change {
            field: field.to_owned(),
            before: before.map(Side::to_value),
            after: after.map(Side::to_value),
        }),
    }
}

fn names(before: &Value, after: &Value) -> Vec<String> {
    let keys = |value: &Value| {
        value.as_object().map_or_else(Vec::new, |map| map.keys().cloned().collect())
    };
    let mut names = keys(before);
    names.extend(keys(after).into_iter().filter(|name| before.get(name).is_none()));
    names
}
