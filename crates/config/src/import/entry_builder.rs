//! The builder that all readers of client files share: it builds an entry of ours member by member.
//!
//! Used by the readers in `import`.

use serde_json::{Map, Value};

use super::reference_syntax::ReferenceSyntax;
use super::{ClientServers, ImportCandidate};
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::source::{ConfigMember, ConfigNode, SourceLocation};

/// Reads servers that are in our form already.
pub(super) fn read_unchanged(servers: Option<&ConfigNode>) -> ClientServers {
    read_each(servers, |_, node, _| Some(node.to_json()))
}

/// Reads every member of `servers` with `entry`.
pub(super) fn read_each(
    servers: Option<&ConfigNode>,
    mut entry: impl FnMut(&str, &ConfigNode, &mut Vec<ConfigProblem>) -> Option<Value>,
) -> ClientServers {
    let mut read = ClientServers::default();
    for ConfigMember { key, at, value } in servers.map_or(&[][..], ConfigNode::members) {
        let made = entry(key, value, &mut read.problems);
        read.servers.extend(made.map(|entry| import_candidate(key, entry, at)));
    }
    read
}

pub(super) fn import_candidate(name: &str, entry: Value, at: &SourceLocation) -> ImportCandidate {
    ImportCandidate { name: name.to_owned(), entry, at: at.clone(), project: None }
}

/// An entry of ours, built from an entry of another client.
pub(super) struct EntryBuilder<'a> {
    theirs: &'a ConfigNode,
    ours: Map<String, Value>,
    translate: &'a ReferenceSyntax,
}

impl<'a> EntryBuilder<'a> {
    pub(super) fn new(theirs: &'a ConfigNode, translate: &'a ReferenceSyntax) -> Self {
        Self { theirs, ours: Map::new(), translate }
    }

    /// Copies a member under another name, with its references translated.
    pub(super) fn copy_as(&mut self, theirs: &str, ours: &str) -> &mut Self {
        if let Some(value) =
            self.theirs.get(theirs).map(|node| self.translate.value(&node.to_json()))
        {
            let is_empty = value.is_null()
                || value.as_object().is_some_and(Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty);
            if !is_empty {
                self.ours.insert(ours.to_owned(), value);
            }
        }
        self
    }

    /// Copies members under their own names.
    pub(super) fn copy_members(&mut self, members: &[&str]) -> &mut Self {
        for member in members {
            self.copy_as(member, member);
        }
        self
    }

    pub(super) fn set(&mut self, member: &str, value: impl Into<Value>) -> &mut Self {
        self.ours.insert(member.to_owned(), value.into());
        self
    }

    /// Converts a timeout from seconds to milliseconds; one below our minimum is left out.
    pub(super) fn seconds(&mut self, theirs: &str) -> &mut Self {
        let seconds = self.theirs.get(theirs).and_then(|node| node.to_json().as_f64());
        let whole = seconds.filter(|seconds| (1.0..1e9).contains(seconds));
        if let Some(seconds) = whole {
            // Within the range above, the product is a small positive number.
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked above"
            )]
            self.set("timeout", (seconds * 1000.0) as u64);
        }
        self
    }

    /// Converts `enabled: false` to `disabled: true`.
    pub(super) fn enabled(&mut self) -> &mut Self {
        if self.theirs.get("enabled").and_then(ConfigNode::as_bool) == Some(false) {
            self.set("disabled", true);
        }
        self
    }

    /// Copies the lists of allowed and denied tools.
    pub(super) fn tools(&mut self, allow: &str, deny: &str) -> &mut Self {
        let list = |key| {
            self.theirs
                .get(key)
                .map(ConfigNode::to_json)
                .filter(|list| !list.as_array().is_none_or(Vec::is_empty))
        };
        let mut tools = Map::new();
        tools.extend(list(allow).map(|list| ("allow".to_owned(), list)));
        tools.extend(list(deny).map(|list| ("deny".to_owned(), list)));
        if !tools.is_empty() {
            self.set("tools", tools);
        }
        self
    }

    /// Adds a member to an object member, which is created if missing.
    pub(super) fn put(&mut self, object: &str, member: &str, value: String) -> &mut Self {
        let inner = self.ours.entry(object).or_insert_with(|| Map::new().into());
        if let Value::Object(inner) = inner {
            inner.insert(member.to_owned(), value.into());
        }
        self
    }

    pub(super) fn has(&self, member: &str) -> bool {
        self.theirs.get(member).is_some()
    }

    pub(super) fn finish(&mut self) -> Value {
        Value::Object(std::mem::take(&mut self.ours))
    }
}

/// The problem for a server that cannot be imported.
pub(super) fn left_behind_problem(name: &str, why: &str, at: &SourceLocation) -> ConfigProblem {
    let message = format!("`{name}` was not taken over: {why}");
    ConfigProblem::warning(ConfigProblemKind::CannotImport, message).at(at.clone()).of_server(name)
}
