//! Opaque capabilities: the capabilities and extensions of a peer that this program does not know.
//!
//! Used by [`super::CapabilityClass`], which declares those of clients to servers, by `gateway::bridge`, which declares
//! those of servers to clients, and by `dispatch::forward`, which finds the server of an unknown method. Each passes
//! as the peer wrote it. It does not know what an extension means, and sets no limits (`capability_reading` does).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use switchboard_wire::json::{JsonEdit, JsonKind, Raw};

use super::capability_reading::CapabilityReading;

/// The most characters of a name that is shown.
const MAX_SHOWN_CHARS: usize = 80;

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

// === impl OpaqueCapabilities ===

impl OpaqueCapabilities {
    /// No capabilities.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Reads the capabilities that a client declares.
    pub fn of_client(capabilities: &Raw) -> CapabilityReading {
        CapabilityReading::of_client(capabilities)
    }

    /// Reads the capabilities that a server declares.
    pub fn of_server(capabilities: &Raw) -> CapabilityReading {
        CapabilityReading::of_server(capabilities)
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
    /// `things.list`, `vendor.example/things/list` and `notifications/things/changed`; the option `resources.things`
    /// has `resources/things`.
    pub fn has_method(&self, method: &str) -> bool {
        let method = without_direction(method);
        self.0.keys().any(|path| {
            path.method_prefixes().iter().any(|prefix| {
                let rest = method.strip_prefix(&**prefix);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
            })
        })
    }

    /// Whether a capability of a method's vendor is here: `vendor.example/things` is of the vendor of
    /// `vendor.example/ask`, though no name says that the method belongs to it.
    pub fn has_vendor_of(&self, method: &str) -> bool {
        let Some(vendor) = vendor_of(without_direction(method)) else { return false };
        self.0.keys().any(|path| match path {
            CapabilityPath::Option(_) => false,
            path => vendor_of(path.name()) == Some(vendor),
        })
    }

    /// Whether a peer that declares these capabilities may get requests with this method.
    pub fn accepts_method(&self, method: &str) -> bool {
        self.has_method(method) || self.has_vendor_of(method)
    }

    /// Adds these capabilities to `capabilities`: an option only where its capability is declared there.
    pub fn add_to(&self, capabilities: Raw) -> Raw {
        let fitting = self.iter().filter(|(path, _)| path.fits_into(&capabilities));
        let paths: Vec<(Vec<&str>, &str)> =
            fitting.map(|(path, settings)| (path.members(), settings)).collect();
        let edits: Vec<_> =
            paths.iter().map(|(path, settings)| JsonEdit::set(path, settings)).collect();
        capabilities.overwrite(&edits)
    }

    /// Adds a capability. Replaces the settings of an equal path.
    pub fn insert(&mut self, path: CapabilityPath, settings: String) {
        self.0.insert(path, settings);
    }

    /// Removes a capability. Returns whether it was there.
    pub(super) fn remove(&mut self, path: &CapabilityPath) -> bool {
        self.0.remove(path).is_some()
    }

    /// Removes all capabilities that stand in this member of `capabilities`.
    pub(super) fn remove_group(&mut self, name: &str) {
        self.0.retain(|path, _| path.members().first() != Some(&name));
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

/// The method without the prefix that every notification has.
fn without_direction(method: &str) -> &str {
    method.strip_prefix("notifications/").unwrap_or(method)
}

/// The vendor in the name of a method or a capability: the part before the first slash.
fn vendor_of(name: &str) -> Option<&str> {
    name.split_once('/').map(|(vendor, _)| vendor).filter(|vendor| !vendor.is_empty())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(capabilities: &str) -> CapabilityReading {
        OpaqueCapabilities::of_client(&Raw::parse(capabilities.to_owned()).unwrap())
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
    fn a_method_belongs_to_the_extension_that_names_it() {
        let declared = read(r#"{"extensions":{"vendor.example/things":{}}}"#).declared;
        for (method, is_of_extension, is_of_vendor) in [
            ("things/list", true, false),
            ("things.list", true, false),
            ("vendor.example/things/list", true, true),
            ("vendor.example/things.list", true, true),
            ("notifications/things/changed", true, false),
            ("things", true, false),
            ("vendor.example/refresh", false, true),
            ("notifications/vendor.example/refreshed", false, true),
            ("thingsome/list", false, false),
            ("vendor.example.org/refresh", false, false),
            ("vendor.example", false, false),
            ("other/list", false, false),
            ("/list", false, false),
            ("", false, false),
        ] {
            let found = (declared.has_method(method), declared.has_vendor_of(method));
            assert_eq!(found, (is_of_extension, is_of_vendor), "{method}");
            assert_eq!(declared.accepts_method(method), is_of_extension || is_of_vendor);
        }
        let option = read(r#"{"sampling":{"things":{}}}"#).declared;
        assert!(option.has_method("sampling/things/list") && !option.has_method("things/list"));
        assert!(!option.has_vendor_of("sampling/other"));
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
