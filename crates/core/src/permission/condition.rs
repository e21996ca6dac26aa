//! The conditions of permission rules: for whom a rule counts, and for which arguments.
//!
//! Used by `permission::rules`. A condition is judged on the arguments that the server gets. An argument that is missing,
//! is no text or occurs twice cannot be judged: a rule that permits does not count then, and a rule that restricts does.
//! It does not decide about calls (`permission::judge`).

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use switchboard_config::{
    ArgumentCondition, ArgumentPointer, ConditionalRule, RuleAudience, glob_matches,
};
use switchboard_wire::json::{JsonElements, JsonMembers, Raw, decode_string};
use switchboard_wire::sanitize::sanitize_line;

use crate::principal::Principal;

/// How many characters of a member's name are shown.
const MAX_NAME_CHARS: usize = 64;

/// The principal of a call, as far as rules look at it. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulePrincipal {
    /// The principal's id.
    pub id: Arc<str>,
    /// The groups that the principal is in.
    pub groups: Arc<[String]>,
}

/// What conditions are judged on.
#[derive(Debug, Clone, Copy)]
pub struct JudgedCall<'a> {
    /// Who makes the call.
    pub principal: &'a RulePrincipal,
    /// The arguments that the server gets.
    pub arguments: &'a Raw,
}

/// The conditions of one rule; at least one.
#[derive(Debug, Clone)]
pub(super) struct RuleCondition {
    audience: Option<RuleAudience>,
    when: Option<ArgumentCondition>,
}

/// How a rule that permits or restricts reads a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleForce {
    /// The rule is under `allow`.
    Permit,
    /// The rule is under `deny` or `ask`.
    Restrict,
}

/// Whether a rule counts for a call, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleEffect {
    /// The rule counts.
    Counts,
    /// The rule counts because its argument is missing, is no text or occurs twice.
    CountsUnjudged,
    /// The rule is for other principals.
    OtherPrincipal,
    /// The argument does not match.
    OtherArgument,
    /// The rule permits, and its argument is missing, is no text or occurs twice.
    Unjudged,
}

/// An argument, as a condition finds it.
enum ArgumentValue<'a> {
    Text(Cow<'a, str>),
    /// Missing, no text, or repeated on the way to it.
    Unclear,
}

// === impl RulePrincipal ===

impl RulePrincipal {
    /// A principal without groups.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), groups: Arc::default() }
    }

    /// The principal with these groups.
    #[must_use]
    pub fn in_groups(self, groups: impl IntoIterator<Item = String>) -> Self {
        Self { groups: groups.into_iter().collect(), ..self }
    }
}

impl From<&Principal> for RulePrincipal {
    fn from(principal: &Principal) -> Self {
        Self {
            id: Arc::clone(principal.id()),
            groups: principal.groups().map(str::to_owned).collect(),
        }
    }
}

// === impl RuleEffect ===

impl RuleEffect {
    /// Whether the rule counts.
    pub fn counts(self) -> bool {
        matches!(self, Self::Counts | Self::CountsUnjudged)
    }
}

// === impl RuleCondition ===

impl RuleCondition {
    /// The conditions of a rule; `None` for a rule without.
    pub(super) fn of(rule: &ConditionalRule) -> Option<Box<Self>> {
        if rule.audience.is_none() && rule.when.is_none() {
            return None;
        }
        Some(Box::new(Self { audience: rule.audience.clone(), when: rule.when.clone() }))
    }

    /// Whether the rule is one for this principal.
    pub(super) fn is_for(&self, principal: &RulePrincipal) -> bool {
        let Some(RuleAudience { group, principal: id }) = &self.audience else { return true };
        let is_member = |group: &String| principal.groups.contains(group);
        group.as_ref().is_none_or(is_member) && id.as_ref().is_none_or(|id| **id == *principal.id)
    }

    /// Whether the rule is one for members of a group.
    pub(super) fn is_for_group(&self) -> bool {
        self.audience.as_ref().is_some_and(|it| it.group.is_some())
    }

    /// Whether the rule looks at arguments.
    pub(super) fn judges_arguments(&self) -> bool {
        self.when.is_some()
    }

    /// Whether the rule counts for a call.
    pub(super) fn effect(&self, call: JudgedCall<'_>, force: RuleForce) -> RuleEffect {
        if !self.is_for(call.principal) {
            return RuleEffect::OtherPrincipal;
        }
        let Some(when) = &self.when else { return RuleEffect::Counts };
        match (find_argument(call.arguments.as_str(), &when.argument), force) {
            (ArgumentValue::Text(text), _) if matches(&when.matches, &text, force) => {
                RuleEffect::Counts
            }
            (ArgumentValue::Text(_), _) => RuleEffect::OtherArgument,
            (ArgumentValue::Unclear, RuleForce::Restrict) => RuleEffect::CountsUnjudged,
            (ArgumentValue::Unclear, RuleForce::Permit) => RuleEffect::Unjudged,
        }
    }
}

/// Whether an argument matches. A path that climbs (`acme/../other`) leads elsewhere than its beginning says, so where a
/// rule permits, only a pattern without a wildcard matches it.
fn matches(pattern: &str, text: &str, force: RuleForce) -> bool {
    if force == RuleForce::Permit && pattern != text && climbs(text) {
        return false;
    }
    glob_matches(pattern, text)
}

fn climbs(text: &str) -> bool {
    text.contains("..") && text.split(['/', '\\']).any(|part| part == "..")
}

fn find_argument<'a>(arguments: &'a str, pointer: &ArgumentPointer) -> ArgumentValue<'a> {
    let mut found = arguments;
    for name in pointer.names() {
        let next = match found.as_bytes().first() {
            Some(b'{') => only_member(found, name),
            Some(b'[') => list_index(name).and_then(|index| JsonElements::of(found).nth(index)),
            _ => None,
        };
        match next {
            Some(value) => found = value,
            None => return ArgumentValue::Unclear,
        }
    }
    match found.starts_with('"').then(|| decode_string(found)).flatten() {
        Some(text) => ArgumentValue::Text(text),
        None => ArgumentValue::Unclear,
    }
}

/// The value of a member that occurs once.
fn only_member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut named = JsonMembers::of(object).filter(|member| member.is_named(name));
    let only = named.next()?;
    named.next().is_none().then_some(only.value)
}

/// The index that a name of a pointer means in a list: digits without a leading zero.
fn list_index(name: &str) -> Option<usize> {
    let is_index =
        name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    if is_index { name.parse().ok() } else { None }
}

/// The name of a member that occurs twice in its object, at any depth, or cannot be decoded; escapes are no difference.
/// Two readers can see different values of an object with a repeated key.
pub(super) fn repeated_member(json: &str) -> Option<String> {
    let mut names = HashSet::new();
    for member in JsonMembers::of(json) {
        let is_new = decode_string(member.key).is_some_and(|name| names.insert(name));
        if !is_new {
            let name = decode_string(member.key).unwrap_or(Cow::Borrowed(member.key));
            return Some(sanitize_line(&name).chars().take(MAX_NAME_CHARS).collect());
        }
    }
    let values = JsonMembers::of(json).map(|member| member.value).chain(JsonElements::of(json));
    // A value is nested no deeper than the parser of the message lets it be.
    values.filter(|value| value.starts_with(['{', '['])).find_map(repeated_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &str, pointer: &str) -> Option<String> {
        let arguments = Raw::parse(arguments.to_owned()).unwrap();
        match find_argument(arguments.as_str(), &pointer.parse().unwrap()) {
            ArgumentValue::Text(text) => Some(text.into_owned()),
            ArgumentValue::Unclear => None,
        }
    }

    #[test]
    fn an_argument_is_one_decoded_text() {
        let check = |arguments, pointer, expected: Option<&str>| {
            assert_eq!(found(arguments, pointer).as_deref(), expected, "{pointer} of {arguments}");
        };
        check(r#"{"repo":"acme/x"}"#, "/repo", Some("acme/x"));
        check(r#"{ "re\u0070o" : "\u0061cme\/x" }"#, "/repo", Some("acme/x"));
        check(r#"{"a":{"b":["x","y"]}}"#, "/a/b/1", Some("y"));
        check(r#"{"a/b":"x"}"#, "/a~1b", Some("x"));
        check(r#"{"":"x"}"#, "/", Some("x"));
        check(r#"{"a":{"0":"x"}}"#, "/a/0", Some("x"));
        // Missing, no text, or repeated.
        check("{}", "/repo", None);
        check(r#"{"repo":5}"#, "/repo", None);
        check(r#"{"repo":true}"#, "/repo", None);
        check(r#"{"repo":null}"#, "/repo", None);
        check(r#"{"repo":["acme/x"]}"#, "/repo", None);
        check(r#"{"repo":"a","repo":"a"}"#, "/repo", None);
        check(r#"{"repo":"a","re\u0070o":"a"}"#, "/repo", None);
        check(r#"{"a":{"b":"x"},"a":{"b":"x"}}"#, "/a/b", None);
        check(r#"{"a":["x"]}"#, "/a/01", None);
        check(r#"{"a":["x"]}"#, "/a/-", None);
        check(r#"{"a":["x"]}"#, "/a/1", None);
        // A half of a pair of surrogates is no text.
        check(r#"{"repo":"\ud800"}"#, "/repo", None);
        // Names are compared letter by letter.
        check(r#"{"Repo":"x"}"#, "/repo", None);
    }

    #[test]
    fn repeated_names_are_found_at_every_depth() {
        let check = |json: &str, expected: Option<&str>| {
            assert_eq!(repeated_member(json).as_deref(), expected, "{json}");
        };
        check(r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}"#, None);
        check(r#"{"a":1,"a":1}"#, Some("a"));
        check(r#"{"repo":1,"re\u0070o":1}"#, Some("repo"));
        check(r#"{"a":[[{"b":1,"c":{"d":1,"\u0064":2}}]]}"#, Some("d"));
        check(r#"{"\ud800":1}"#, Some("\"\\ud800\""));
        check(r#"["a","a"]"#, None);
    }

    #[test]
    fn a_pattern_is_the_whole_text_and_permits_no_climbing() {
        let check = |pattern, text, permits: bool, restricts: bool| {
            let outcomes =
                [RuleForce::Permit, RuleForce::Restrict].map(|force| matches(pattern, text, force));
            assert_eq!(outcomes, [permits, restricts], "{pattern} {text}");
        };
        check("acme/*", "acme/x", true, true);
        check("acme/*", "acme/", true, true);
        check("acme/*", "acme/x/y", true, true);
        check("acme/*", "acme", false, false);
        check("acme/*", "Acme/x", false, false);
        check("acme/*", " acme/x", false, false);
        check("acme", "acme/x", false, false);
        check("*", "", true, true);
        // Other signs stand for themselves, and nothing is normalised.
        check("a?[b]{c}", "a?[b]{c}", true, true);
        check("a?", "ab", false, false);
        check("/etc/*", "/./etc/passwd", false, false);
        check("caf\u{e9}", "cafe\u{301}", false, false);
        check("acme/*", "acme/../other", false, true);
        check("acme/*", "acme/..", false, true);
        check("C:\\x\\*", "C:\\x\\..\\y", false, true);
        check("acme/../other", "acme/../other", true, true);
        check("acme/*", "acme/a..b", true, true);
        check("acme/*", "acme/...", true, true);
    }
}
