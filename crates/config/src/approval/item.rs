//! Approval items: the smallest parts of a project that a person can approve, such as a server or a hook.
//!
//! Used by `load`, which creates them, by `approval::store` and by the commands `approve` and `reject`.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::secret::secret_names;
use crate::source::SourceLocation;

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalItemKind {
    /// A server.
    Server,
    /// A hook.
    Hook,
    /// A permission rule that allows calls.
    AllowRule,
    /// A permission mode.
    Mode,
    /// A command that classifies calls.
    Classifier,
    /// An environment variable.
    Variable,
    /// An agent.
    Agent,
    /// A setting that starts servers without asking, or enables them.
    Setting,
}

impl ApprovalItemKind {
    /// The kind's name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Hook => "hook",
            Self::AllowRule => "allow rule",
            Self::Mode => "permission mode",
            Self::Classifier => "classifier",
            Self::Variable => "variable",
            Self::Agent => "agent",
            Self::Setting => "setting",
        }
    }
}

impl fmt::Display for ApprovalItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One item of a project tree.
#[derive(Clone, PartialEq)]
pub struct ApprovalItem {
    /// The kind.
    pub kind: ApprovalItemKind,
    /// The item's name: a server's name, a hook's event, a rule's text.
    pub name: String,
    /// The item's content, as written.
    pub content: Value,
    /// Where the item stands.
    pub at: SourceLocation,
    folder: PathBuf,
}

impl ApprovalItem {
    /// An item of the file in `at`.
    pub(crate) fn new(
        kind: ApprovalItemKind,
        name: impl Into<String>,
        content: Value,
        at: SourceLocation,
    ) -> Self {
        let folder = at.origin.path().and_then(Path::parent).unwrap_or(Path::new(""));
        // With links resolved, so that one folder has one key; a folder that does not exist keeps its name.
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Self { kind, name: name.into(), content, at, folder }
    }

    /// The folder of the item's file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The secrets that the item gets once it is approved.
    pub fn secrets(&self) -> BTreeSet<String> {
        match self.kind {
            ApprovalItemKind::Server | ApprovalItemKind::Agent => secret_names(&self.content),
            _ => BTreeSet::new(),
        }
    }

    pub(crate) fn folder_key(&self) -> String {
        folder_key(&self.folder)
    }

    /// A hash of kind, name and content; the order of members and formatting do not change it.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.kind.name());
        hasher.update([0]);
        hasher.update(self.name.as_bytes());
        hasher.update([0]);
        hasher.update(sorted(&self.content).to_string());
        hex(&hasher.finalize())
    }
}

// Debug output ends up in logs, so it is redacted.
impl fmt::Debug for ApprovalItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} `{}` at {}: {}",
            self.kind,
            self.name,
            self.at,
            crate::redact::redact_entry(&self.content)
        )
    }
}

/// A key of a folder that is unique, whatever bytes its name contains.
pub(crate) fn folder_key(folder: &Path) -> String {
    match folder.to_str() {
        Some(text) => text.to_owned(),
        None => format!("bytes:{}", hex(folder.as_os_str().as_encoded_bytes())),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort();
            let member = |name: &String| (name.clone(), sorted(&members[name]));
            names.into_iter().map(member).collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => elements.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
