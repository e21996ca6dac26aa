//! Decoding of an object member by member, with a problem for each one that does not fit.
//!
//! Used by `entry::parse`, `settings::parse` and `agent`.

use std::collections::BTreeMap;

use super::{ConfigMember, ConfigNode, ConfigValue, LocatedValue, SourceLocation};
use crate::nearest_name::nearest_name;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint, ProblemSeverity};

/// What other programs call the object of servers.
const OTHER_NAMES_OF_SERVERS: [&str; 2] = ["servers", "context_servers"];

/// The members of one object during decoding.
///
/// A member that was never requested is unknown: it stays in the file and is reported once, by
/// [`ObjectFields::finish`].
pub(crate) struct ObjectFields<'a> {
    members: &'a [ConfigMember],
    at: SourceLocation,
    asked: Vec<&'static str>,
    what: String,
    server: Option<&'a str>,
    problems: &'a mut Vec<ConfigProblem>,
    sound: bool,
}

#[cfg(test)]
thread_local! {
    /// Every requested member with the name of its object, for the test of the settings reference.
    pub(crate) static REQUESTED_MEMBERS: std::cell::RefCell<std::collections::BTreeSet<(String, &'static str)>> =
        const { std::cell::RefCell::new(std::collections::BTreeSet::new()) };
}

impl<'a> ObjectFields<'a> {
    /// Starts decoding `node`; `what` names it in messages.
    pub(crate) fn new(
        node: &'a ConfigNode,
        what: &str,
        problems: &'a mut Vec<ConfigProblem>,
    ) -> Self {
        let mut fields = Self {
            members: node.members(),
            at: node.at.clone(),
            asked: Vec::new(),
            what: what.to_owned(),
            server: None,
            problems,
            sound: true,
        };
        if !matches!(node.value, ConfigValue::Object(_)) {
            let message = format!("{} must be an object, not {}", fields.what, node.kind());
            fields.reject(ConfigProblemKind::WrongType, message, &node.at);
        }
        fields.mention_repeated();
        fields
    }

    /// Sets the server that problems belong to.
    pub(crate) fn of_server(mut self, name: &'a str) -> Self {
        self.server = Some(name);
        self
    }

    /// The member `key`; null counts as absent.
    pub(crate) fn node(&mut self, key: &'static str) -> Option<&'a ConfigNode> {
        self.asked.push(key);
        #[cfg(test)]
        REQUESTED_MEMBERS.with_borrow_mut(|asked| asked.insert((self.what.clone(), key)));
        let member = self.members.iter().rev().find(|member| member.key == key)?;
        (member.value.value != ConfigValue::Null).then_some(&member.value)
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Option<LocatedValue<String>> {
        let node = self.node(key)?;
        match node.as_str() {
            Some(text) => Some(LocatedValue::new(text.to_owned(), node.at.clone())),
            None => self.mismatch(key, "a string", node),
        }
    }

    /// The value that a word stands for, one of `choices`; another word is rejected.
    pub(crate) fn choice<T, const N: usize>(
        &mut self,
        key: &'static str,
        choices: [(&str, T); N],
    ) -> Option<T> {
        let word = self.text(key)?;
        let chosen = choices.into_iter().find(|(name, _)| *name == word.value);
        if chosen.is_none() {
            let message = format!("`{key}` of {} cannot be `{}`", self.what, word.value);
            self.reject(ConfigProblemKind::BadValue, message, &word.at);
        }
        chosen.map(|(_, value)| value)
    }

    /// A required string that is not empty.
    pub(crate) fn required(&mut self, key: &'static str) -> Option<LocatedValue<String>> {
        match (self.text(key), self.members.iter().rev().find(|member| member.key == key)) {
            (Some(text), _) if text.value.trim().is_empty() => {
                let message = format!("`{key}` of {} is empty", self.what);
                self.reject(ConfigProblemKind::BadValue, message, &text.at);
                None
            }
            (None, None) => {
                let message = format!("{} has no `{key}`", self.what);
                let at = self.at.clone();
                self.reject_missing(message, &[key], &at);
                None
            }
            (text, _) => text,
        }
    }

    pub(crate) fn string(&mut self, key: &'static str) -> Option<String> {
        self.text(key).map(|text| text.value)
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> Option<LocatedValue<bool>> {
        let node = self.node(key)?;
        match node.as_bool() {
            Some(value) => Some(LocatedValue::new(value, node.at.clone())),
            None => self.mismatch(key, "true or false", node),
        }
    }

    pub(crate) fn integer(&mut self, key: &'static str) -> Option<LocatedValue<u64>> {
        let node = self.node(key)?;
        match &node.value {
            ConfigValue::Number(number) if number.is_u64() => {
                number.as_u64().map(|value| LocatedValue::new(value, node.at.clone()))
            }
            ConfigValue::Number(number) => {
                let message =
                    format!("`{key}` of {} must be a whole number, not {number}", self.what);
                self.reject(ConfigProblemKind::WrongType, message, &node.at);
                None
            }
            _ => self.mismatch(key, "a whole number", node),
        }
    }

    /// A list of strings; elements of another type are left out, with a problem each.
    pub(crate) fn texts(&mut self, key: &'static str) -> Option<Vec<LocatedValue<String>>> {
        let node = self.node(key)?;
        if !matches!(node.value, ConfigValue::List(_)) {
            return self.mismatch(key, "a list of strings", node);
        }
        let text = |element: &ConfigNode| {
            element.as_str().map(|text| LocatedValue::new(text.to_owned(), element.at.clone()))
        };
        Some(self.elements(key, "a list of strings", node, text))
    }

    /// A list of what `decode` reads; elements that it does not read are left out, with a problem each.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        decode: impl FnMut(&ConfigNode) -> Option<T>,
    ) -> Vec<T> {
        match self.node(key) {
            Some(node) if matches!(node.value, ConfigValue::List(_)) => {
                self.elements(key, expected, node, decode)
            }
            Some(node) => self.mismatch(key, expected, node).unwrap_or_default(),
            None => Vec::new(),
        }
    }

    fn elements<T>(
        &mut self,
        key: &str,
        expected: &str,
        node: &ConfigNode,
        mut decode: impl FnMut(&ConfigNode) -> Option<T>,
    ) -> Vec<T> {
        let element = |element| decode(element).or_else(|| self.mismatch(key, expected, element));
        node.elements().iter().filter_map(element).collect()
    }

    pub(crate) fn strings(&mut self, key: &'static str) -> Vec<String> {
        self.texts(key).into_iter().flatten().map(|text| text.value).collect()
    }

    /// An object with only string values.
    pub(crate) fn text_map(&mut self, key: &'static str) -> BTreeMap<String, LocatedValue<String>> {
        let Some(node) = self.node(key) else {
            return BTreeMap::new();
        };
        if !matches!(node.value, ConfigValue::Object(_)) {
            return self.mismatch(key, "an object of strings", node).unwrap_or_default();
        }
        let mut map = BTreeMap::new();
        for member in node.members() {
            match member.value.as_str() {
                Some(text) => {
                    let text = LocatedValue::new(text.to_owned(), member.value.at.clone());
                    map.insert(member.key.clone(), text);
                }
                None => {
                    let _: Option<()> = self.mismatch(key, "an object of strings", &member.value);
                }
            }
        }
        map
    }

    pub(crate) fn string_map(&mut self, key: &'static str) -> BTreeMap<String, String> {
        self.text_map(key).into_iter().map(|(name, text)| (name, text.value)).collect()
    }

    /// A nested object, decoded by `decode`.
    pub(crate) fn nested<T>(
        &mut self,
        key: &'static str,
        decode: impl FnOnce(&mut ObjectFields<'_>) -> T,
    ) -> Option<T> {
        let node = self.node(key)?;
        let what = format!("`{key}` of {}", self.what);
        Some(self.element(node, &what, decode))
    }

    /// An element of a list, decoded by `decode`.
    pub(crate) fn element<T>(
        &mut self,
        node: &ConfigNode,
        what: &str,
        decode: impl FnOnce(&mut ObjectFields<'_>) -> T,
    ) -> T {
        let mut inner = ObjectFields::new(node, what, self.problems);
        inner.server = self.server;
        let value = decode(&mut inner);
        let sound = inner.finish();
        self.sound &= sound;
        value
    }

    /// How many problems there are so far, of this object and those before it.
    pub(crate) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// The location of the first error after `count` problems.
    pub(crate) fn first_error_since(&self, count: usize) -> Option<SourceLocation> {
        let errors = self.problems[count..].iter();
        let mut errors = errors.filter(|problem| problem.severity == ProblemSeverity::Error);
        errors.find_map(|problem| problem.at.clone())
    }

    /// Checks an object with free names: only its type, and repeated names.
    pub(crate) fn check_names(&mut self, node: &ConfigNode, what: &str) {
        let inner = ObjectFields::new(node, what, self.problems);
        self.sound &= inner.sound;
    }

    /// Records a problem that makes the whole object invalid.
    pub(crate) fn reject(&mut self, kind: ConfigProblemKind, message: String, at: &SourceLocation) {
        self.sound = false;
        self.push(ConfigProblem::error(kind, message).at(at.clone()));
    }

    /// Records that the object has none of these members, with a hint if a member was mistyped.
    pub(crate) fn reject_missing(
        &mut self,
        message: String,
        keys: &[&'static str],
        at: &SourceLocation,
    ) {
        self.sound = false;
        let mut problem =
            ConfigProblem::error(ConfigProblemKind::MissingMember, message).at(at.clone());
        problem.hint = self.members.iter().find_map(|member| rename_hint(&member.key, keys));
        self.push(problem);
    }

    /// Records a problem that the object survives.
    pub(crate) fn add_problem(&mut self, problem: ConfigProblem) {
        self.push(problem);
    }

    /// Marks members as known.
    pub(crate) fn allow(&mut self, keys: &[&'static str]) {
        self.asked.extend_from_slice(keys);
    }

    /// Where the object stands.
    pub(crate) fn at(&self) -> &SourceLocation {
        &self.at
    }

    /// The object's name in messages.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Reports unknown members, and returns whether all requested members were valid.
    pub(crate) fn finish(mut self) -> bool {
        let is_unknown = |member: &&ConfigMember| !self.asked.contains(&member.key.as_str());
        let unknown: Vec<_> = self.members.iter().filter(is_unknown).collect();
        if let Some(first) = unknown.first() {
            let names: Vec<_> = unknown.iter().map(|member| format!("`{}`", member.key)).collect();
            let noun = if names.len() == 1 { "member" } else { "members" };
            let message = format!("unknown {noun} {} in {}", names.join(", "), self.what);
            let mut problem = ConfigProblem::warning(ConfigProblemKind::UnknownMember, message)
                .at(first.at.clone());
            problem.hint = unknown.iter().find_map(|member| rename_hint(&member.key, &self.asked));
            self.push(problem);
        }
        self.sound
    }

    fn mention_repeated(&mut self) {
        for (index, member) in self.members.iter().enumerate() {
            if self.members[index + 1..].iter().any(|later| later.key == member.key) {
                let message =
                    format!("`{}` occurs twice in {}; the later one counts", member.key, self.what);
                self.push(
                    ConfigProblem::warning(ConfigProblemKind::RepeatedMember, message)
                        .at(member.at.clone()),
                );
            }
        }
    }

    fn mismatch<T>(&mut self, key: &str, expected: &str, found: &ConfigNode) -> Option<T> {
        let message = format!("`{key}` of {} must be {expected}, not {}", self.what, found.kind());
        self.reject(ConfigProblemKind::WrongType, message, &found.at);
        None
    }

    fn push(&mut self, mut problem: ConfigProblem) {
        problem.server = self.server.map(ToOwned::to_owned);
        self.problems.push(problem);
    }
}

/// The hint for a member whose name is close to a known one, or is another program's name for it.
fn rename_hint(written: &str, known: &[&'static str]) -> Option<ProblemHint> {
    let servers = known.iter().find(|key| **key == "mcpServers");
    let meant = match servers.filter(|_| OTHER_NAMES_OF_SERVERS.contains(&written)) {
        Some(servers) => *servers,
        None => nearest_name(written, known.iter().copied()).filter(|meant| *meant != written)?,
    };
    Some(ProblemHint::Other(format!("did you mean `{meant}` instead of `{written}`?")))
}
