//! What a connection declares that its client can do.
//!
//! A legacy server learns it once, in the handshake, and may show other tools or take another way accordingly. So
//! sessions share a connection only if their classes are equal. A modern server learns it with each request.

use switchboard_wire::json::{JsonEdit, Raw};

/// What is declared of elicitation and sampling. Roots are declared for entries of a project, in every class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CapabilityClass {
    /// Forms can be filled in.
    pub form: bool,
    /// Pages can be opened.
    pub url: bool,
    /// A model can be asked.
    pub sampling: bool,
    /// That model can be given tools.
    pub sampling_tools: bool,
    /// That model can be given context of servers.
    pub sampling_context: bool,
}

// === impl CapabilityClass ===

impl CapabilityClass {
    /// What the queue of questions can answer: forms and pages.
    pub const QUEUE: Self = Self {
        form: true,
        url: true,
        sampling: false,
        sampling_tools: false,
        sampling_context: false,
    };

    /// The class of a client that declares these capabilities.
    pub fn from_capabilities(capabilities: &Raw) -> Self {
        let declares = |path: &[&str]| declares(capabilities, path);
        let url = declares(&["elicitation", "url"]);
        Self {
            // Before there were pages, `{}` meant forms, and still does.
            form: declares(&["elicitation"]) && (declares(&["elicitation", "form"]) || !url),
            url,
            sampling: declares(&["sampling"]),
            sampling_tools: declares(&["sampling", "tools"]),
            sampling_context: declares(&["sampling", "context"]),
        }
    }

    /// Everything that either promises.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            form: self.form || other.form,
            url: self.url || other.url,
            sampling: self.sampling || other.sampling,
            sampling_tools: self.sampling_tools || other.sampling_tools,
            sampling_context: self.sampling_context || other.sampling_context,
        }
    }

    /// Whether it promises nothing that `other` lacks.
    pub fn is_within(self, other: Self) -> bool {
        self.union(other) == other
    }

    /// How much it promises.
    pub fn size(self) -> u32 {
        self.bits().count_ones()
    }

    /// A number that differs from class to class.
    pub(super) fn bits(self) -> u8 {
        let all = [self.form, self.url, self.sampling, self.sampling_tools, self.sampling_context];
        all.iter().fold(0, |bits, promised| bits << 1 | u8::from(*promised))
    }

    /// `capabilities`, as they are declared to a server.
    pub fn capabilities(self) -> Raw {
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
        let none = Raw::empty_object();
        none.with_edits(&edits).unwrap_or(none)
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
        assert!(
            none.is_within(form) && form.is_within(form) && form.is_within(CapabilityClass::QUEUE)
        );
        assert!(!form.is_within(none) && !form.is_within(sampling) && !sampling.is_within(form));
        assert_eq!([none.size(), form.size(), sampling.size()], [0, 1, 2]);
    }
}
