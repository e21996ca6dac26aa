//! Reads the opaque capabilities of a peer from its declaration, within limits, and says what does not pass and why.
//!
//! Used by [`OpaqueCapabilities`]. It knows the capabilities of the protocol, whose values the program declares itself,
//! and passes everything else. It does not decide which peers get it (`CapabilityClass`, `gateway::bridge`).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use switchboard_wire::json::{JsonKind, Raw, decode_string};
use switchboard_wire::meta::TASKS_EXTENSION;

use super::opaque_capabilities::{CapabilityPath, OpaqueCapabilities};

/// The most opaque capabilities of one peer that pass.
const MAX_CAPABILITIES: usize = 64;
/// The most bytes of names and settings of one peer that pass.
const MAX_BYTES: usize = 16 * 1024;
/// The most lost capabilities that are listed one by one.
const MAX_LISTED_LOSSES: usize = 16;

/// The members of capabilities whose members are capabilities.
const GROUPS: [&str; 2] = ["extensions", "experimental"];
/// Why a capability does not pass that a peer declares more than once.
const DECLARED_TWICE: &str = "it is declared twice";
/// Why an option does not pass of a capability that the program declares for itself on both sides.
const DECLARED_HERE: &str = "Switchboard declares this capability for itself";

/// A capability that the protocol defines and the program declares itself, and its options.
struct ProtocolCapability {
    name: &'static str,
    options: ProtocolOptions,
}

/// The options of a capability that the protocol defines.
enum ProtocolOptions {
    /// The program passes the capability on, and with it options that it does not know.
    PassedOn(&'static [ProtocolCapability]),
    /// The program declares the capability for itself. Options that it does not know are lost.
    Declared(&'static [&'static str]),
}

use ProtocolOptions::{Declared, PassedOn};

/// The client capabilities of the protocol.
const CLIENT_CAPABILITIES: &[ProtocolCapability] = &[
    known("elicitation", PassedOn(&[known("form", PassedOn(&[])), known("url", PassedOn(&[]))])),
    known("sampling", PassedOn(&[known("tools", PassedOn(&[])), known("context", PassedOn(&[]))])),
    known("roots", Declared(&["listChanged"])),
    known("tasks", Declared(&["list", "cancel", "requests"])),
];
/// The server capabilities of the protocol.
const SERVER_CAPABILITIES: &[ProtocolCapability] = &[
    known("tools", PassedOn(&[known("listChanged", PassedOn(&[]))])),
    known("prompts", PassedOn(&[known("listChanged", PassedOn(&[]))])),
    known(
        "resources",
        PassedOn(&[known("subscribe", PassedOn(&[])), known("listChanged", PassedOn(&[]))]),
    ),
    known("logging", PassedOn(&[])),
    known("completions", PassedOn(&[])),
    known("tasks", Declared(&["list", "cancel", "requests"])),
];

const fn known(name: &'static str, options: ProtocolOptions) -> ProtocolCapability {
    ProtocolCapability { name, options }
}

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

// === impl CapabilityReading ===

impl CapabilityReading {
    /// Reads the capabilities that a client declares.
    pub(super) fn of_client(capabilities: &Raw) -> Self {
        Self::new(capabilities, CLIENT_CAPABILITIES)
    }

    /// Reads the capabilities that a server declares.
    pub(super) fn of_server(capabilities: &Raw) -> Self {
        Self::new(capabilities, SERVER_CAPABILITIES)
    }

    fn new(capabilities: &Raw, known: &'static [ProtocolCapability]) -> Self {
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
    fn read_options(&mut self, path: &[&'static str], capability: &Raw, known: &ProtocolOptions) {
        for (key, settings) in capability.entries() {
            let Some(name) = decode_string(key) else { continue };
            let option = || {
                let members = path.iter().copied().chain([&*name]);
                CapabilityPath::Option(members.map(str::to_owned).collect())
            };
            match known {
                PassedOn(options) => match options.iter().find(|option| option.name == name) {
                    Some(ProtocolCapability { name, options }) => {
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
        self.reading.declared.remove_group(name);
        self.lose(name.to_owned(), DECLARED_TWICE);
    }

    fn add(&mut self, path: CapabilityPath, settings: &Raw) {
        let declared = &mut self.reading.declared;
        let bytes = self.bytes + path.name().len() + settings.as_str().len();
        if self.twice.contains(&path) {
            return;
        }
        if declared.remove(&path) {
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
        CapabilityReading::of_client(&Raw::parse(capabilities.to_owned()).unwrap())
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
}
