//! The builder that all readers of client files share: it builds an entry of ours member by member, and names
//! the members that it leaves out.
//!
//! Used by the readers in `import`. It does not judge whether the entry is usable (`entry_check`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers, ImportCandidate};
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::source::{ConfigMember, ConfigNode, ConfigValue, SourceLocation};

/// The shortest timeout that an entry of ours may have.
const MIN_TIMEOUT_MS: f64 = 1000.0;
/// Longer than any timeout; a product below it is exact.
const MAX_TIMEOUT_MS: f64 = 1e12;

/// An entry of ours, and the members of the client's entry that it leaves out.
pub(super) struct ConvertedEntry {
    pub(super) entry: Value,
    pub(super) losses: Vec<LostMember>,
}

/// A member of a client's entry that has no equivalent, or another meaning here.
pub(super) struct LostMember {
    path: String,
    /// What happens to it, as the end of a sentence.
    fate: String,
    at: SourceLocation,
}

/// Reads every member of `servers` with `convert`.
pub(super) fn read_each(
    client: ClientApp,
    servers: Option<&ConfigNode>,
    mut convert: impl FnMut(&str, &ConfigNode, &mut Vec<ConfigProblem>) -> Option<ConvertedEntry>,
) -> ClientServers {
    let mut read = ClientServers::default();
    for ConfigMember { key, at, value } in servers.map_or(&[][..], ConfigNode::members) {
        let converted = convert(key, value, &mut read.problems);
        read.servers
            .extend(converted.map(|converted| import_candidate(client, key, converted, at)));
    }
    read
}

pub(super) fn import_candidate(
    client: ClientApp,
    name: &str,
    converted: ConvertedEntry,
    at: &SourceLocation,
) -> ImportCandidate {
    ImportCandidate {
        name: name.to_owned(),
        client,
        losses: converted.losses.into_iter().map(|lost| lost.problem(name)).collect(),
        entry: converted.entry,
        at: at.clone(),
        project: None,
    }
}

/// An entry of ours, built from an entry of another client.
pub(super) struct EntryBuilder<'a> {
    theirs: &'a ConfigNode,
    ours: Map<String, Value>,
    syntax: ReferenceSyntax,
    /// The members of theirs that were converted, or that say nothing about the server.
    read: BTreeSet<&'a str>,
    losses: Vec<LostMember>,
}

impl<'a> EntryBuilder<'a> {
    pub(super) fn new(theirs: &'a ConfigNode, syntax: ReferenceSyntax) -> Self {
        Self { theirs, ours: Map::new(), syntax, read: BTreeSet::new(), losses: Vec::new() }
    }

    /// Copies a member under another name, with its references translated.
    pub(super) fn copy_as(&mut self, theirs: &'a str, ours: &str) -> &mut Self {
        if let Some(node) = self.take(theirs).filter(|node| !is_empty(node)) {
            let value = self.translate(node, theirs);
            self.ours.insert(ours.to_owned(), value);
        }
        self
    }

    /// Copies members under their own names.
    pub(super) fn copy_members(&mut self, members: &[&'a str]) -> &mut Self {
        for member in members {
            self.copy_as(member, member);
        }
        self
    }

    /// Copies members of a nested object of theirs into the object `ours`; its other members are lost.
    pub(super) fn copy_nested(
        &mut self,
        theirs: &'a str,
        ours: &str,
        members: &[(&'a str, &str)],
    ) -> &mut Self {
        let Some(node) = self.take(theirs) else { return self };
        let mut inner = EntryBuilder::new(node, self.syntax);
        for (theirs, ours) in members {
            inner.copy_as(theirs, ours);
        }
        let inner = inner.finish();
        self.losses.extend(inner.losses.into_iter().map(|lost| lost.within(theirs)));
        for (member, value) in inner.entry.as_object().into_iter().flatten() {
            self.put(ours, member, value.clone());
        }
        self
    }

    /// Adds the members that were converted from the nested object `theirs`.
    pub(super) fn merge(&mut self, theirs: &str, inner: ConvertedEntry) {
        self.losses.extend(inner.losses.into_iter().map(|lost| lost.within(theirs)));
        for (member, value) in inner.entry.as_object().into_iter().flatten() {
            self.set(member, value.clone());
        }
    }

    pub(super) fn set(&mut self, member: &str, value: impl Into<Value>) -> &mut Self {
        self.ours.insert(member.to_owned(), value.into());
        self
    }

    /// Converts a timeout in seconds.
    pub(super) fn seconds(&mut self, theirs: &'a str) -> &mut Self {
        self.timeout(theirs, 1000.0)
    }

    /// Copies a timeout in milliseconds.
    pub(super) fn milliseconds(&mut self, theirs: &'a str) -> &mut Self {
        self.timeout(theirs, 1.0)
    }

    fn timeout(&mut self, theirs: &'a str, unit_ms: f64) -> &mut Self {
        let Some(node) = self.take(theirs).filter(|node| node.value != ConfigValue::Null) else {
            return self;
        };
        match node.to_json().as_f64().map(|count| count * unit_ms) {
            Some(timeout) if (MIN_TIMEOUT_MS..MAX_TIMEOUT_MS).contains(&timeout) => {
                // Within the range above, it is a small positive number.
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked above"
                )]
                self.set("timeout", timeout as u64);
            }
            _ => self.lose(theirs, "a timeout is at least one second here", &node.at),
        }
        self
    }

    /// Converts `enabled: false` to `disabled: true`.
    pub(super) fn enabled(&mut self) -> &mut Self {
        if self.take("enabled").and_then(ConfigNode::as_bool) == Some(false) {
            self.set("disabled", true);
        }
        self
    }

    /// Copies the lists of allowed and denied tools. An empty list of allowed tools allows none.
    pub(super) fn tools(&mut self, allow: Option<&'a str>, deny: Option<&'a str>) -> &mut Self {
        let mut list = |key: Option<&'a str>| {
            let node = key.and_then(|key| self.take(key))?;
            (node.value != ConfigValue::Null).then(|| node.to_json())
        };
        let (allow, deny) = (list(allow), list(deny));
        let deny = deny.filter(|list| list.as_array().is_none_or(|list| !list.is_empty()));
        for (member, list) in [("allow", allow), ("deny", deny)] {
            if let Some(list) = list {
                self.put("tools", member, list);
            }
        }
        self
    }

    /// Adds a member to an object member, which is created if missing.
    pub(super) fn put(&mut self, object: &str, member: &str, value: impl Into<Value>) -> &mut Self {
        let inner = self.ours.entry(object).or_insert_with(|| Map::new().into());
        if let Value::Object(inner) = inner {
            inner.insert(member.to_owned(), value.into());
        }
        self
    }

    /// Passes over members that say nothing about the server: descriptions, icons, origins.
    pub(super) fn pass_over(&mut self, members: &[&'a str]) -> &mut Self {
        self.read.extend(members);
        self
    }

    /// Takes a member to convert it in the reader.
    pub(super) fn take(&mut self, member: &'a str) -> Option<&'a ConfigNode> {
        self.read.insert(member);
        self.theirs.get(member)
    }

    pub(super) fn has(&self, member: &str) -> bool {
        self.theirs.get(member).is_some()
    }

    /// Notes a member that cannot be taken over, with the reason.
    pub(super) fn lose(&mut self, path: impl Into<String>, why: &str, at: &SourceLocation) {
        let fate = format!("is not imported: {why}");
        self.losses.push(LostMember { path: path.into(), fate, at: at.clone() });
    }

    /// The entry. Every member that no call named is a loss, unless it is empty or `false`.
    pub(super) fn finish(&mut self) -> ConvertedEntry {
        for member in self.theirs.members() {
            if !self.read.contains(&*member.key) && !is_empty(&member.value) {
                self.lose(&*member.key, "Switchboard has no equivalent", &member.at);
            }
        }
        // An object that is no entry at all becomes an entry that the check refuses.
        ConvertedEntry {
            entry: Value::Object(std::mem::take(&mut self.ours)),
            losses: std::mem::take(&mut self.losses),
        }
    }

    fn translate(&mut self, node: &ConfigNode, path: &str) -> Value {
        match &node.value {
            ConfigValue::String(text) => {
                if let Some(why) = self.syntax.misread(text) {
                    let fate = format!("has another meaning here: {why}");
                    let at = node.at.clone();
                    self.losses.push(LostMember { path: path.to_owned(), fate, at });
                }
                self.syntax.text(text).into()
            }
            ConfigValue::List(elements) => {
                let each = elements.iter().enumerate();
                each.map(|(index, element)| self.translate(element, &format!("{path}[{index}]")))
                    .collect()
            }
            ConfigValue::Object(members) => {
                let each = members.iter().map(|member| {
                    let path = format!("{path}.{}", member.key);
                    (member.key.clone(), self.translate(&member.value, &path))
                });
                each.collect::<Map<_, _>>().into()
            }
            _ => node.to_json(),
        }
    }
}

impl LostMember {
    fn within(mut self, member: &str) -> Self {
        self.path = format!("{member}.{}", self.path);
        self
    }

    fn problem(self, name: &str) -> ConfigProblem {
        let message = format!("`{}` of `{name}` {}", self.path, self.fate);
        ConfigProblem::warning(ConfigProblemKind::CannotImport, message).at(self.at).of_server(name)
    }
}

/// Whether a value says nothing: null, `false`, or an empty text, list or object.
fn is_empty(node: &ConfigNode) -> bool {
    match &node.value {
        ConfigValue::Null | ConfigValue::Bool(false) => true,
        ConfigValue::String(text) => text.is_empty(),
        ConfigValue::List(elements) => elements.is_empty(),
        ConfigValue::Object(members) => members.is_empty(),
        ConfigValue::Bool(true) | ConfigValue::Number(_) => false,
    }
}

/// The problem for a server that cannot be imported.
pub(super) fn left_behind_problem(name: &str, why: &str, at: &SourceLocation) -> ConfigProblem {
    let message = format!("`{name}` was not imported: {why}");
    ConfigProblem::warning(ConfigProblemKind::CannotImport, message).at(at.clone()).of_server(name)
}
