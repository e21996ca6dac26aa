//! The change of one file: which members are set and which are removed.
//!
//! Used by `setup::plan` and `setup::carry_out`. It turns text into text; every byte outside the members stays.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::edit::EditError;
use crate::import::ClientApp;
use crate::install::ClientFileFormat;

/// A member of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberValue {
    /// The names on the way to the member.
    pub path: Vec<String>,
    /// The value.
    pub value: Value,
}

/// A planned change of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedFile {
    /// The client; absent for our own settings.
    pub client: Option<ClientApp>,
    /// The file.
    pub file: PathBuf,
    /// The members to set.
    pub set: Vec<MemberValue>,
    /// The members to replace.
    pub(super) replace: Vec<MemberReplacement>,
    /// The members to remove, with the values that they have now.
    pub remove: Vec<MemberValue>,
    pub(super) format: ClientFileFormat,
}

/// A member that gets another value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MemberReplacement {
    /// The member, with the value that it has now.
    pub(super) member: MemberValue,
    pub(super) new: Value,
}

/// A changed text, and the members that changed.
#[derive(Debug, PartialEq)]
pub(super) struct ChangedText {
    pub(super) text: String,
    pub(super) added: Vec<MemberValue>,
    pub(super) removed: Vec<MemberValue>,
}

// === impl MemberValue ===

impl MemberValue {
    /// The member under `name` of the object at `path`.
    pub(super) fn new(path: &[&str], name: &str, value: Value) -> Self {
        let path = path.iter().copied().chain([name]).map(str::to_owned).collect();
        Self { path, value }
    }

    /// The last name of the path.
    pub fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// The path as the functions of `edit` take it.
    pub(super) fn keys(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }
}

// === impl PlannedFile ===

impl PlannedFile {
    /// No change of a file.
    pub(super) fn new(client: Option<ClientApp>, file: PathBuf, format: ClientFileFormat) -> Self {
        Self { client, file, set: Vec::new(), replace: Vec::new(), remove: Vec::new(), format }
    }

    /// Whether nothing is to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.replace.is_empty() && self.remove.is_empty()
    }

    /// The text after the change. A member that another program has changed since the plan stays.
    pub(super) fn apply(&self, text: &str) -> Result<ChangedText, EditError> {
        let mut changed =
            ChangedText { text: text.to_owned(), added: Vec::new(), removed: Vec::new() };
        for member in &self.set {
            let old = self.format.get(&changed.text, &member.keys())?;
            if old.as_ref() == Some(&member.value) {
                continue;
            }
            changed.text = self.format.set(&changed.text, &member.keys(), &member.value)?;
            changed.removed.extend(old.map(|value| MemberValue { value, ..member.clone() }));
            changed.added.push(member.clone());
        }
        for MemberReplacement { member, new } in &self.replace {
            if self.format.get(&changed.text, &member.keys())?.as_ref() == Some(&member.value) {
                changed.text = self.format.set(&changed.text, &member.keys(), new)?;
                changed.removed.push(member.clone());
                changed.added.push(MemberValue { value: new.clone(), ..member.clone() });
            }
        }
        for member in &self.remove {
            if self.format.get(&changed.text, &member.keys())?.as_ref() == Some(&member.value) {
                changed.text = self.format.remove(&changed.text, &member.keys())?;
                changed.removed.push(member.clone());
            }
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn member(path: [&str; 2], value: Value) -> MemberValue {
        MemberValue::new(&path[..1], path[1], value)
    }

    #[test]
    fn a_change_touches_only_its_members() {
        let plan = PlannedFile {
            set: vec![member(["m", "new"], json!({"command": "x"}))],
            remove: vec![member(["m", "old"], json!(1)), member(["m", "edited"], json!(2))],
            ..PlannedFile::new(None, PathBuf::new(), ClientFileFormat::Json)
        };
        let changed =
            plan.apply("{\n  // kept\n  \"m\": {\n    \"old\": 1,\n    \"edited\": 3\n  }\n}\n");
        let changed = changed.unwrap();
        assert_eq!(
            changed.text,
            "{\n  // kept\n  \"m\": {\n    \"edited\": 3,\n    \"new\": {\n      \"command\": \"x\"\n    }\n  }\n}\n"
        );
        assert_eq!(changed.removed, [member(["m", "old"], json!(1))]);
        assert_eq!(plan.apply(&changed.text).unwrap().text, changed.text);
    }
}
