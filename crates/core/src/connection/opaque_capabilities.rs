//! Opaque capabilities: the capabilities and extensions of a peer that this program does not know.
//!
//! Used by [`super::CapabilityClass`], which declares those of clients to servers, by `gateway::bridge`, which declares
//! those of servers to clients, and by `dispatch::forward`, which finds the server of an unknown method. Each passes
//! as the peer wrote it, within limits. It does not know what an extension means.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use switchboard_wire::json::{JsonEdit, JsonKind, Raw, decode_string};
use switchboard_wire::meta::TASKS_EXTENSION;

/// The most opaque capabilities of one peer that pass.
const MAX_CAPABILITIES: usize = 64;
/// The most bytes of names and settings of one peer that pass.
const MAX_BYTES: usize = 16 * 1024;
/// The most lost capabilities that are listed one by one.
const MAX_LISTED_LOSSES: usize = 16;
/// The most characters of a name that is shown.
const MAX_SHOWN_CHARS: usize = 80;

/// The members of capabilities whose members are capabilities.
const GROUPS: [&str; 2] = ["extensions", "experimental"];
/// Why a capability does not pass that a peer declares more than once.
const DECLARED_TWICE: &str = "it is declared twice";
/// Why an option does not pass of a capability that the program declares for itself on both sides.
const DECLARED_HERE: &str = "Switchboard declares this capability for itself";

/// A capability that the protocol defines and the program declares itself, and its options.
struct KnownCapability {
    name: &'static str,
    options: KnownOptions,
}

/// The options of a capability that the protocol defines.
enum KnownOptions {
    /// The program passes the capability on, and with it options that it does not know.
    Passed(&'static [KnownCapability]),
    /// The program declares the capability for itself. Options that it does not know are lost.
    Declared(&'static [&'static str]),
}

use KnownOptions::{Declared, Passed};

/// The client capabilities of the protocol.
const CLIENT_CAPABILITIES: &[KnownCapability] = &[
    known("elicitation", Passed(&[known("form", Passed(&[])), known("url", Passed(&[]))])),
    known("sampling", Passed(&[known("tools", Passed(&[])), known("context", Passed(&[]))])),
    known("roots", Declared(&["listChanged"])),
    known("tasks", Declared(&["list", "cancel", "requests"])),
];
/// The server capabilities of the protocol.
const SERVER_CAPABILITIES: &[KnownCapability] = &[
    known("tools", Passed(&[known("listChanged", Passed(&[]))])),
    known("prompts", Passed(&[known("listChanged", Passed(&[]))])),
    known(
        "resources",
        Passed(&[known("subscribe", Passed(&[])), known("listChanged", Passed(&[]))]),
    ),
    known("logging", Passed(&[])),
    known("completions", Passed(&[])),
    known("tasks", Declared(&["list", "cancel", "requests"])),
];

const fn known(name: &'static str, options: KnownOptions) -> KnownCapability {
    KnownCapability { name, options }
}

/// Where a capability stands in `capabilities`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CapabilityPath {
    /// `extensions.<id>`.
    Extension(String),
    /// `experimental.<name>`.
    Experimental(String),
    /// A member of `capabilities` itself.
    Member(String),
    /// An option of a capability that the protocol defines: the members from `capabilities` to it.
    Option(Vec<String>),
}

/// The capabilities of one peer that this program does not know, each with its settings as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpaqueCapabilities(BTreeMap<CapabilityPath, String>);

/// A capability that does not pass, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostCapability {
    /// The capability, for people: `extensions.<id>`.
    pub name: String,
    /// Why it does not pass.
    pub reason: String,
    /// The server that does not get it; `None` if no peer does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// The opaque capabilities of a peer, and those that do not pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilityReading {
    /// The capabilities that pass.
    pub declared: OpaqueCapabilities,
    /// The capabilities that do not.
    pub lost: Vec<LostCapability>,
}

// === impl OpaqueCapabilities ===

impl OpaqueCapabilities {
    /// No capabilities.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Reads the capabilities that a client declares.
    pub fn of_client(capabilities: &Raw) -> CapabilityReading {
        CapabilityReading::new(capabilities, CLIENT_CAPABILITIES)
    }

    /// Reads the capabilities that a server declares.
    pub fn of_server(capabilities: &Raw) -> CapabilityReading {
        CapabilityReading::new(capabilities, SERVER_CAPABILITIES)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of capabilities.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns each capability with its settings as JSON text.
    pub fn iter(&self) -> impl Iterator<Item = (&CapabilityPath, &str)> {
        self.0.iter().map(|(path, settings)| (path, settings.as_str()))
    }

    /// Returns the capabilities of both; where settings differ, those of `self`.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        for (path, settings) in &other.0 {
            self.0.entry(path.clone()).or_insert_with(|| settings.clone());
        }
        self
    }

    /// Returns the capabilities without options of those that the protocol defines.
    #[must_use]
    pub fn without_options(&self) -> Self {
        let kept = self.0.iter().filter(|(path, _)| !matches!(path, CapabilityPath::Option(_)));
        Self(kept.map(|(path, settings)| (path.clone(), settings.clone())).collect())
    }

    /// Whether `other` has all of these capabilities, with equal settings.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|(path, settings)| other.0.get(path) == Some(settings))
    }

    /// Returns the capabilities that both have, whatever their settings.
    pub fn shared_with<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a CapabilityPath> {
        self.0.keys().filter(|path| other.0.contains_key(*path))
    }

    /// Whether a capability that a method belongs to is here: `vendor.example/things` has `things/list`,
    /// `vendor.example/things/list` and `notifications/things/changed`; the option `resources.things` has
    /// `resources/things`.
    pub fn has_method(&self, method: &str) -> bool {
        let method = method.strip_prefix("notifications/").unwrap_or(method);
        self.0.keys().any(|path| {
            path.method_prefixes().iter().any(|prefix| {
                let rest = method.strip_prefix(&**prefix);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        })
    }

    /// Adds these capabilities to `capabilities`: an option only where its capability is declared there.
    pub fn add_to(&self, capabilities: Raw) -> Raw {
        let fitting = self.iter().filter(|(path, _)| path.fits_into(&capabilities));
        let paths: Vec<(Vec<&str>, &str)> =
            fitting.map(|(path, settings)| (path.members(), settings)).collect();
        let edits: Vec<_> =
            paths.iter().map(|(path, settings)| JsonEdit::set(path, settings)).collect();
        capabilities.with_edits(&edits).unwrap_or(capabilities)
    }

    /// Adds a capability. Replaces the settings of an equal path.
    pub fn insert(&mut self, path: CapabilityPath, settings: String) {
        self.0.insert(path, settings);
    }
}

// === impl CapabilityPath ===

impl CapabilityPath {
    /// Returns the name of the extension, capability or option.
    pub fn name(&self) -> &str {
        match self {
            Self::Extension(name) | Self::Experimental(name) | Self::Member(name) => name,
            Self::Option(members) => members.last().map_or("", String::as_str),
        }
    }

    /// Returns the members from `capabilities` to this one.
    pub fn members(&self) -> Vec<&str> {
        match self {
            Self::Extension(id) => vec!["extensions", id],
            Self::Experimental(name) => vec!["experimental", name],
            Self::Member(name) => vec![name],
            Self::Option(members) => members.iter().map(String::as_str).collect(),
        }
    }

    /// The beginnings of the methods that belong to the capability.
    fn method_prefixes(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Option(members) => vec![members.join("/").into()],
            _ => {
                let name = self.name();
                vec![name.into(), name.rsplit('/').next().unwrap_or(name).into()]
            }
        }
    }

    /// Whether `capabilities` declare the capability that this is an option of.
    fn fits_into(&self, capabilities: &Raw) -> bool {
        let Self::Option(members) = self else { return true };
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let Some((_, parent)) = members.split_last() else { return false };
        let parent = capabilities.get_path(parent).ok().flatten();
        parent.is_some_and(|parent| parent.kind() == JsonKind::Object)
    }
}

impl fmt::Display for CapabilityPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name: String = self.name().chars().take(MAX_SHOWN_CHARS).collect();
        let name = switchboard_wire::sanitize::sanitize_line(&name);
        // All members but the last one are names of the protocol.
        let members = self.members();
        for group in members.iter().rev().skip(1).rev() {
            write!(f, "{group}.")?;
        }
        f.write_str(&name)
    }
}

// === impl CapabilityReading ===

impl CapabilityReading {
    fn new(capabilities: &Raw, known: &'static [KnownCapability]) -> Self {
        let mut reading = CapabilityReader::default();
        let mut seen = BTreeSet::new();
        for (key, value) in capabilities.entries() {
            let Some(name) = decode_string(key) else { continue };
            let known = known.iter().find(|known| known.name == name);
            let is_group = known.is_some() || GROUPS.contains(&&*name);
            if is_group && !seen.insert(name.to_string()) {
                reading.lose_group(&name);
                continue;
            }
            if let Some(known) = known {
                reading.read_options(&[known.name], &value, &known.options);
                continue;
            }
            match &*name {
                "extensions" => reading.read_group(&value, "extensions", |id| {
                    (id != TASKS_EXTENSION).then_some(CapabilityPath::Extension(id.to_owned()))
                }),
                "experimental" => reading.read_group(&value, "experimental", |name| {
                    Some(CapabilityPath::Experimental(name.to_owned()))
                }),
                _ if is_absent(&value) => {}
                name => reading.add(CapabilityPath::Member(name.to_owned()), &value),
            }
        }
        reading.finish()
    }
}

/// Whether a capability is not declared: a member that is `false` or `null` is not.
fn is_absent(value: &Raw) -> bool {
    matches!(value.as_str(), "null" | "false")
}

/// Reads capabilities within the limits.
#[derive(Default)]
struct CapabilityReader {
    reading: CapabilityReading,
    bytes: usize,
    /// The capabilities that stand twice.
    twice: BTreeSet<CapabilityPath>,
    /// How many were lost beyond those that are listed.
    unlisted: usize,
}

// === impl CapabilityReader ===

impl CapabilityReader {
    /// Reads the members of `extensions` or `experimental`. `path` returns `None` for members that the program knows.
    fn read_group(
        &mut self,
        group: &Raw,
        name: &str,
        path: impl Fn(&str) -> Option<CapabilityPath>,
    ) {
        if group.kind() != JsonKind::Object {
            return self.lose(name.to_owned(), "not an object");
        }
        for (key, settings) in group.entries() {
            let Some(path) = decode_string(key).and_then(|name| path(&name)) else { continue };
            match settings.kind() {
                JsonKind::Object => self.add(path, &settings),
                _ if is_absent(&settings) => {}
                _ => self.lose(path.to_string(), "its settings are not an object"),
            }
        }
    }

    /// Reads the options of a capability of the protocol, which stands at `path`.
    fn read_options(&mut self, path: &[&'static str], capability: &Raw, known: &KnownOptions) {
        for (key, settings) in capability.entries() {
            let Some(name) = decode_string(key) else { continue };
            let option = || {
                let members = path.iter().copied().chain([&*name]);
                CapabilityPath::Option(members.map(str::to_owned).collect())
            };
            match known {
                Passed(options) => match options.iter().find(|option| option.name == name) {
                    Some(KnownCapability { name, options }) => {
                        self.read_options(&[path, &[*name]].concat(), &settings, options);
                    }
                    None if is_absent(&settings) => {}
                    None => self.add(option(), &settings),
                },
                Declared(options) if options.contains(&&*name) || is_absent(&settings) => {}
                Declared(_) => self.lose(option().to_string(), DECLARED_HERE),
            }
        }
    }

    /// Drops all members of a group that stands twice.
    fn lose_group(&mut self, name: &str) {
        self.reading.declared.0.retain(|path, _| path.members().first() != Some(&name));
        self.lose(name.to_owned(), DECLARED_TWICE);
    }

    fn add(&mut self, path: CapabilityPath, settings: &Raw) {
        let declared = &mut self.reading.declared;
        let bytes = self.bytes + path.name().len() + settings.as_str().len();
        if self.twice.contains(&path) {
            return;
        }
        if declared.0.remove(&path).is_some() {
            self.lose(path.to_string(), DECLARED_TWICE);
            self.twice.insert(path);
            return;
        }
        if declared.len() >= MAX_CAPABILITIES {
            let reason = format!("only {MAX_CAPABILITIES} capabilities of one peer pass");
            return self.lose(path.to_string(), &reason);
        }
        if bytes > MAX_BYTES {
            let reason = format!("only {MAX_BYTES} bytes of capabilities of one peer pass");
            return self.lose(path.to_string(), &reason);
        }
        self.bytes = bytes;
        declared.insert(path, settings.as_str().to_owned());
    }

    fn lose(&mut self, name: String, reason: &str) {
        if self.reading.lost.len() >= MAX_LISTED_LOSSES {
            self.unlisted += 1;
            return;
        }
        let lost = LostCapability { name, reason: reason.to_owned(), server: None };
        self.reading.lost.push(lost);
    }

    fn finish(mut self) -> CapabilityReading {
        if self.unlisted > 0 {
            let name = format!("{} more", self.unlisted);
            let reason = "beyond the limits of one peer".to_owned();
            self.reading.lost.push(LostCapability { name, reason, server: None });
        }
        self.reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(capabilities: &str) -> CapabilityReading {
        OpaqueCapabilities::of_client(&Raw::parse(capabilities.to_owned()).unwrap())
    }

    #[test]
    fn unknown_capabilities_pass_as_they_are() {
        let check = |declared: &str, expected: &str, lost: &[&str]| {
            let reading = read(declared);
            let passed = reading.declared.add_to(Raw::empty_object());
            assert_eq!(passed.as_str(), expected, "{declared}");
            let names: Vec<&str> = reading.lost.iter().map(|lost| lost.name.as_str()).collect();
            assert_eq!(names, lost, "{declared}");
        };
        check("{}", "{}", &[]);
        check(r#"{"roots":{},"sampling":{},"elicitation":{},"tasks":{}}"#, "{}", &[]);
        check(
            r#"{"extensions":{"io.modelcontextprotocol/ui":{ "mimeTypes":["text/html"] }}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/ui":{ "mimeTypes":["text/html"] }}}"#,
            &[],
        );
        check(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, "{}", &[]);
        check(
            r#"{"experimental":{"a":{"n":1.0}},"later":true,"never":false}"#,
            r#"{"experimental":{"a":{"n":1.0}},"later":true}"#,
            &[],
        );
        // Options of capabilities that the protocol defines.
        check(r#"{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}"#, "{}", &[]);
        check(
            r#"{"roots":{"later":{}},"tasks":{"requests":{"a":{}},"later":true,"never":null}}"#,
            "{}",
            &["roots.later", "tasks.later"],
        );
        check(r#"{"elicitation":{},"elicitation":{"later":{}}}"#, "{}", &["elicitation"]);
        check(r#"{"extensions":[]}"#, "{}", &["extensions"]);
        check(
            r#"{"extensions":{"a":7,"b":{},"c":null}}"#,
            r#"{"extensions":{"b":{}}}"#,
            &["extensions.a"],
        );
        check(r#"{"extensions":{"a":{},"a":{"x":1}}}"#, "{}", &["extensions.a"]);
        check(r#"{"extensions":{"a":{},"\u0061":{},"a":{}}}"#, "{}", &["extensions.a"]);
        check(r#"{"extensions":{"a":{}},"extensions":{"b":{}}}"#, "{}", &["extensions"]);
        check(r#"{"later":{},"later":{},"later":{}}"#, "{}", &["later"]);
        // Names that other languages give a meaning.
        check(
            r#"{"extensions":{"__proto__":{"x":1},"constructor":{}},"__proto__":{}}"#,
            r#"{"extensions":{"__proto__":{"x":1},"constructor":{}},"__proto__":{}}"#,
            &[],
        );
    }

    #[test]
    fn an_option_passes_with_its_capability() {
        let declared =
            r#"{"elicitation":{"form":{"depth":1.50},"later":{}},"sampling":{"b":true}}"#;
        let options = read(declared).declared;
        let names: Vec<String> = options.iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(names, ["elicitation.form.depth", "elicitation.later", "sampling.b"]);
        for (capabilities, expected) in [
            ("{}", "{}"),
            (r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"url":{},"later":{}}}"#),
            (
                r#"{"elicitation":{"form":{}},"sampling":{}}"#,
                r#"{"elicitation":{"form":{"depth":1.50},"later":{}},"sampling":{"b":true}}"#,
            ),
            // A value that has no members has no options.
            (r#"{"sampling":true}"#, r#"{"sampling":true}"#),
        ] {
            let with = options.add_to(Raw::parse(capabilities.to_owned()).unwrap());
            assert_eq!(with.as_str(), expected, "{capabilities}");
        }
        let server = Raw::parse(
            r#"{"tools":{"listChanged":true,"later":1.50},"logging":{"a":{}},"tasks":{"b":{}}}"#,
        );
        let reading = OpaqueCapabilities::of_server(&server.unwrap());
        let ours = r#"{"tools":{"listChanged":true},"logging":{}}"#;
        let with = reading.declared.add_to(Raw::parse(ours.to_owned()).unwrap());
        let expected = r#"{"tools":{"listChanged":true,"later":1.50},"logging":{"a":{}}}"#;
        assert_eq!(with.as_str(), expected);
        assert_eq!(reading.lost[0].name, "tasks.b");
    }

    #[test]
    fn ten_thousand_extensions_pass_within_limits() {
        let many: Vec<String> = (0..10_000).map(|number| format!(r#""x/{number}":{{}}"#)).collect();
        let reading = read(&format!(r#"{{"extensions":{{{}}}}}"#, many.join(",")));
        assert_eq!(reading.declared.len(), MAX_CAPABILITIES);
        assert_eq!(reading.lost.len(), MAX_LISTED_LOSSES + 1);
        assert_eq!(reading.lost[MAX_LISTED_LOSSES].name, "9920 more");
        let large =
            format!(r#"{{"extensions":{{"a":{{"x":"{}"}},"b":{{}}}}}}"#, "y".repeat(MAX_BYTES));
        let reading = read(&large);
        assert_eq!((reading.declared.len(), reading.lost.len()), (1, 1));
    }

    #[test]
    fn a_method_belongs_to_the_extension_that_names_it() {
        let declared = read(r#"{"extensions":{"vendor.example/things":{}}}"#).declared;
        for (method, expected) in [
            ("things/list", true),
            ("vendor.example/things/list", true),
            ("notifications/things/changed", true),
            ("things", true),
            ("thingsome/list", false),
            ("other/list", false),
        ] {
            assert_eq!(declared.has_method(method), expected, "{method}");
        }
        let option = read(r#"{"sampling":{"things":{}}}"#).declared;
        assert!(option.has_method("sampling/things/list") && !option.has_method("things/list"));
    }

    #[test]
    fn a_set_is_within_one_that_has_equal_settings() {
        let set = |text: &str| read(text).declared;
        let small = set(r#"{"extensions":{"a":{}}}"#);
        let large = set(r#"{"extensions":{"a":{},"b":{}}}"#);
        let other = set(r#"{"extensions":{"a":{"x":1}}}"#);
        assert!(OpaqueCapabilities::NONE.is_within(&small) && small.is_within(&large));
        assert!(!large.is_within(&small) && !other.is_within(&large));
        assert_eq!(small.shared_with(&other).count(), 1);
    }
}
