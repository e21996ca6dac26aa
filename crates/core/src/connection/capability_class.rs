//! The capabilities that a connection declares on behalf of its clients.
//!
//! Used by `connection::spec` and by the engine, which picks a class for each session. A legacy server learns them
//! once, in the handshake, and may list other tools or behave differently. So sessions share a
//! connection only if their classes are equal. A modern server learns them with each request; its lists may still
//! depend on opaque capabilities.

use switchboard_wire::json::{JsonEdit, Raw};

use super::opaque_capabilities::OpaqueCapabilities;

/// The declared capabilities: elicitation, sampling, and those that this program does not know. Roots are declared for
/// entries of a project, in every class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CapabilityClass {
    /// The client can show forms.
    pub form: bool,
    /// The client can open pages.
    pub url: bool,
    /// The client can ask a model.
    pub sampling: bool,
    /// The client can give that model tools.
    pub sampling_tools: bool,
    /// The client can give that model context of servers.
    pub sampling_context: bool,
    /// The client's extensions and other capabilities that this program does not know.
    pub opaque: OpaqueCapabilities,
}

// === impl CapabilityClass ===

impl CapabilityClass {
    /// The capabilities of the question queue: forms and pages.
    pub const QUEUE: Self = Self {
        form: true,
        url: true,
        sampling: false,
        sampling_tools: false,
        sampling_context: false,
        opaque: OpaqueCapabilities::NONE,
    };

    /// Returns the class of a client that declares these capabilities.
    pub fn from_capabilities(capabilities: &Raw) -> Self {
        let declares = |path: &[&str]| declares(capabilities, path);
        let url = declares(&["elicitation", "url"]);
        Self {
            // Before URL elicitation existed, `{}` meant forms, and still does.
            form: declares(&["elicitation"]) && (declares(&["elicitation", "form"]) || !url),
            url,
            sampling: declares(&["sampling"]),
            sampling_tools: declares(&["sampling", "tools"]),
            sampling_context: declares(&["sampling", "context"]),
            opaque: OpaqueCapabilities::of_client(capabilities).declared,
        }
    }

    /// Returns the class with the capabilities of both.
    #[must_use]
    pub fn union(self, other: &Self) -> Self {
        Self {
            form: self.form || other.form,
            url: self.url || other.url,
            sampling: self.sampling || other.sampling,
            sampling_tools: self.sampling_tools || other.sampling_tools,
            sampling_context: self.sampling_context || other.sampling_context,
            opaque: self.opaque.union(&other.opaque),
        }
    }

    /// Whether `other` has all capabilities of this class.
    pub fn is_within(&self, other: &Self) -> bool {
        self.bits() & !other.bits() == 0 && self.opaque.is_within(&other.opaque)
    }

    /// Returns the number of capabilities.
    pub fn size(&self) -> usize {
        self.bits().count_ones() as usize + self.opaque.len()
    }

    /// Returns the class with other opaque capabilities.
    #[must_use]
    pub(crate) fn with_opaque(&self, opaque: &OpaqueCapabilities) -> Self {
        Self { opaque: opaque.clone(), ..self.clone() }
    }

    /// Returns a number that differs between classes with equal opaque capabilities.
    pub(super) fn bits(&self) -> u8 {
        let all = [self.form, self.url, self.sampling, self.sampling_tools, self.sampling_context];
        all.iter().fold(0, |bits, promised| bits << 1 | u8::from(*promised))
    }

    /// Returns the `capabilities` to declare to a server.
    pub fn capabilities(&self) -> Raw {
        let elicitation = match (self.form, self.url) {
            (true, true) => Some(r#"{"form":{},"url":{}}"#),
            (true, false) => Some(r#"{"form":{}}"#),
            (false, true) => Some(r#"{"url":{}}"#),
            (false, false) => None,
        };
        let sampling =
            self.sampling.then_some(match (self.sampling_tools, self.sampling_context) {
                (true, true) => r#"{"tools":{},"context":{}}"#,
                (true, false) => r#"{"tools":{}}"#,
                (false, true) => r#"{"context":{}}"#,
                (false, false) => "{}",
            });
        let members = [("elicitation", elicitation), ("sampling", sampling)];
        let paths = members.map(|(name, value)| ([name], value));
        let edits: Vec<_> =
            paths.iter().filter_map(|(path, value)| Some(JsonEdit::set(path, (*value)?))).collect();
        self.opaque.add_to(Raw::empty_object().overwrite(&edits))
    }
}

/// Whether a capability is declared, by its path. A member that is `false` or `null` is not.
pub(crate) fn declares(capabilities: &Raw, path: &[&str]) -> bool {
    !matches!(capabilities.peek_path(path), Ok(None | Some("false" | "null")) | Err(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_what_a_client_declares() {
        let check = |declared: &str, expected: &str| {
            let class = CapabilityClass::from_capabilities(&Raw::parse(declared).unwrap());
            assert_eq!(class.capabilities().as_str(), expected, "{declared}");
        };
        check("{}", "{}");
        check(r#"{"roots":{"listChanged":true},"experimental":{}}"#, "{}");
        check(
            r#"{"extensions":{"a/b":{"x":1}},"sampling":{}}"#,
            r#"{"sampling":{},"extensions":{"a/b":{"x":1}}}"#,
        );
        check(r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#);
        check(r#"{"elicitation":{"form":{}}}"#, r#"{"elicitation":{"form":{}}}"#);
        check(r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"url":{}}}"#);
        check(r#"{"elicitation":{"url":{},"form":{}}}"#, r#"{"elicitation":{"form":{},"url":{}}}"#);
        check(r#"{"elicitation":null,"sampling":{}}"#, r#"{"sampling":{}}"#);
        check(
            r#"{"sampling":{"tools":{},"context":{}}}"#,
            r#"{"sampling":{"tools":{},"context":{}}}"#,
        );
    }

    #[test]
    fn a_class_is_within_those_that_promise_as_much() {
        let class = |text: &str| CapabilityClass::from_capabilities(&Raw::parse(text).unwrap());
        let (none, form) = (class("{}"), class(r#"{"elicitation":{}}"#));
        let sampling = class(r#"{"sampling":{"tools":{}}}"#);
        let extended = class(r#"{"elicitation":{},"extensions":{"a/b":{}}}"#);
        assert!(
            none.is_within(&form)
                && form.is_within(&form)
                && form.is_within(&CapabilityClass::QUEUE)
        );
        assert!(!form.is_within(&none) && !form.is_within(&sampling) && !sampling.is_within(&form));
        assert!(form.is_within(&extended) && !extended.is_within(&CapabilityClass::QUEUE));
        let sizes = [&none, &form, &sampling, &extended].map(CapabilityClass::size);
        assert_eq!(sizes, [0, 1, 2, 2]);
    }
}
