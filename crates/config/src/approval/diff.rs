//! The differences between an approved item and its present content.
//!
//! Used by `approval::store` and by the approval prompts of all fronts. A person decides by these
//! differences, so [`ApprovalChange`] holds both sides as they stand in the files. `list` and `get` show a
//! change without secrets: a [`RedactedChange`].

use std::fmt;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::redact::{REDACTED, redact_entry};

/// One difference between the approved and the present content, both as written.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalChange {
    /// The member, as a path such as `args[1]`.
    pub field: String,
    /// The approved value; absent for a new member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The present value; absent for a removed member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    #[serde(skip)]
    redacted: RedactedChange,
}

/// An [`ApprovalChange`] with the secrets of both sides redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedactedChange {
    /// The member, as a path such as `args[1]`.
    pub field: String,
    /// The approved value; absent for a new member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The present value; absent for a removed member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// A value with its redacted form.
#[derive(Clone, Copy)]
struct ValueSide<'a> {
    written: &'a Value,
    masked: Option<&'a Value>,
}

fn path_text(path: &Path) -> Value {
    path.to_string_lossy().into()
}

// === impl ApprovalChange ===

impl ApprovalChange {
    /// A difference between two paths, which hold no secrets.
    pub(crate) fn of_paths(field: &str, before: &Path, after: Option<&Path>) -> Self {
        let (before, after) = (path_text(before), after.map(path_text));
        let side = |written| ValueSide { written, masked: Some(written) };
        Self::new(field, Some(side(&before)), after.as_ref().map(side))
    }

    fn new(field: &str, before: Option<ValueSide<'_>>, after: Option<ValueSide<'_>>) -> Self {
        Self {
            field: field.to_owned(),
            before: before.map(|side| side.written.clone()),
            after: after.map(|side| side.written.clone()),
            redacted: RedactedChange {
                field: field.to_owned(),
                before: before.map(ValueSide::to_masked),
                after: after.map(ValueSide::to_masked),
            },
        }
    }

    /// The change without secrets, for every place but the approval itself.
    pub fn to_redacted(&self) -> RedactedChange {
        self.redacted.clone()
    }
}

// Debug output ends up in logs, so it is redacted.
impl fmt::Debug for ApprovalChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.redacted.fmt(f)
    }
}

// === impl RedactedChange ===

impl RedactedChange {
    /// Whether both sides look alike because redaction covers the difference.
    pub fn hides_difference(&self) -> bool {
        self.before == self.after
    }
}

// === impl ValueSide ===

impl ValueSide<'_> {
    fn member(self, name: &str) -> Option<Self> {
        let masked = self.masked.and_then(|masked| masked.get(name));
        self.written.get(name).map(|written| Self { written, masked })
    }

    fn element(self, index: usize) -> Option<Self> {
        let masked = self.masked.and_then(|masked| masked.get(index));
        self.written.get(index).map(|written| Self { written, masked })
    }

    fn to_masked(self) -> Value {
        self.masked.cloned().unwrap_or_else(|| REDACTED.into())
    }
}

/// The differences between two contents.
pub fn diff_contents(before: &Value, after: &Value) -> Vec<ApprovalChange> {
    let (masked_before, masked_after) = (redact_entry(before), redact_entry(after));
    let mut found = Vec::new();
    let before = ValueSide { written: before, masked: Some(&masked_before) };
    let after = ValueSide { written: after, masked: Some(&masked_after) };
    compare("", Some(before), Some(after), &mut found);
    found
}

fn compare(
    field: &str,
    before: Option<ValueSide<'_>>,
    after: Option<ValueSide<'_>>,
    found: &mut Vec<ApprovalChange>,
) {
    match (before, after) {
        (Some(old), Some(new)) if old.written == new.written => {}
        (Some(old), Some(new)) if old.written.is_object() && new.written.is_object() => {
            for name in names(old.written, new.written) {
                let path = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
                compare(&path, old.member(&name), new.member(&name), found);
            }
        }
        (Some(old), Some(new)) if old.written.is_array() && new.written.is_array() => {
            let length = |value: &Value| value.as_array().map_or(0, Vec::len);
            for index in 0..length(old.written).max(length(new.written)) {
                compare(
                    &format!("{field}[{index}]"),
                    old.element(index),
                    new.element(index),
                    found,
                );
            }
        }
        (before, after) => found.push(ApprovalChange::new(field, before, after)),
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
