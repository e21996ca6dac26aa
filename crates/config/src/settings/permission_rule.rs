//! Permission rules as settings files hold them: a text, or an object with conditions.
//!
//! Used by `settings::parse`, and by `resolve::settings`, which decides which rules take effect. Calls are matched in
//! `core::permission`. The documentation of members is published in the JSON schema and in the settings reference.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use super::argument_pointer::ArgumentPointer;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint, ProblemSeverity};
use crate::source::{ConfigNode, ConfigValue, ObjectFields};

/// A permission rule of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenRule {
    /// The rule, and its conditions as far as they can be understood.
    pub rule: ConditionalRule,
    /// Why its conditions cannot be understood.
    pub problems: Vec<ConfigProblem>,
}

/// A permission rule with conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConditionalRule {
    /// The tools, as in a rule without conditions.
    pub rule: String,
    /// For whom the rule counts; absent for everyone.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub audience: Option<RuleAudience>,
    /// For which arguments of a call the rule counts; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<ArgumentCondition>,
}

/// The principals that a rule counts for. Each member that is there must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(default)]
pub struct RuleAudience {
    /// A group that the principal is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The principal's id; `local` is the person who runs the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
}

/// The condition on one argument of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ArgumentCondition {
    /// Where the argument is in the arguments of the call, as a JSON Pointer: `/repo`, `/options/path`, `/files/0`.
    pub argument: ArgumentPointer,
    /// The whole text of the argument. `*` stands for any text, `/` included.
    pub matches: String,
}

// === impl WrittenRule ===

impl WrittenRule {
    /// Decodes an element of a list of rules; `None` for an element that is neither text nor object.
    pub(crate) fn decode(node: &ConfigNode) -> Option<Self> {
        match &node.value {
            ConfigValue::String(text) => {
                let rule = ConditionalRule { rule: text.clone(), ..ConditionalRule::default() };
                Some(Self { rule, problems: Vec::new() })
            }
            ConfigValue::Object(_) => Some(Self::decode_object(node)),
            _ => None,
        }
    }

    fn decode_object(node: &ConfigNode) -> Self {
        let mut problems = Vec::new();
        let mut fields = ObjectFields::new(node, "a rule", &mut problems);
        let pattern = fields.required("rule").map(|text| text.value).unwrap_or_default();
        let audience = fields.nested("for", RuleAudience::decode);
        let when = fields.nested("when", ArgumentCondition::decode).flatten();
        // Other members may be null, which counts as absent: without its condition, a rule would allow more.
        for member in node.members().iter().filter(|member| member.value.value == ConfigValue::Null)
        {
            let message = format!("`{}` of a rule is null", member.key);
            fields.reject(ConfigProblemKind::BadRule, message, &member.at);
        }
        fields.finish();
        // A member that is not understood may be a condition with a mistake in its name.
        for problem in &mut problems {
            problem.severity = ProblemSeverity::Error;
            problem.hint = Some(ProblemHint::Other(SYNTAX_HINT.to_owned()));
        }
        Self { rule: ConditionalRule { rule: pattern, audience, when }, problems }
    }

    /// Whether its conditions cannot be understood.
    pub fn is_broken(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Whether the file holds an object.
    pub(crate) fn is_conditional(&self) -> bool {
        self.is_broken() || self.rule.audience.is_some() || self.rule.when.is_some()
    }
}

/// The form of a rule with conditions, for the hint of every mistake in one.
const SYNTAX_HINT: &str = r#"write it as {"rule": "mcp__server__tool", "for": {"group": "…"}, "when": {"argument": "/name", "matches": "…"}}"#;

impl JsonSchema for WrittenRule {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "WrittenRule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let object = generator.subschema_for::<ConditionalRule>();
        json_schema!({ "anyOf": [{ "type": "string" }, object] })
    }
}

// === impl ConditionalRule ===

/// The rule in one line, for messages. Two rules that differ have different texts.
impl fmt::Display for ConditionalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)?;
        if let Some(audience) = &self.audience {
            let members = [("group", &audience.group), ("principal", &audience.principal)];
            for (noun, name) in members {
                if let Some(name) = name {
                    write!(f, " for {noun} {name:?}")?;
                }
            }
        }
        match &self.when {
            Some(when) => write!(f, " when {} matches {:?}", when.argument, when.matches),
            None => Ok(()),
        }
    }
}

impl ConditionalRule {
    /// The rule as a file holds it: a text, or an object where it has conditions.
    pub fn to_value(&self) -> Value {
        if self.audience.is_none() && self.when.is_none() {
            return Value::from(self.rule.as_str());
        }
        json!(self)
    }
}

// === impl RuleAudience ===

impl RuleAudience {
    /// Whether it names the principal with this id and these groups.
    pub fn names<'a>(&self, id: &str, mut groups: impl Iterator<Item = &'a str>) -> bool {
        let is_member = |group: &String| groups.any(|theirs| theirs == group);
        self.principal.as_ref().is_none_or(|named| named == id)
            && self.group.as_ref().is_none_or(is_member)
    }

    pub(super) fn decode(fields: &mut ObjectFields<'_>) -> Self {
        let [group, principal] = ["group", "principal"].map(|key| {
            let text = fields.text(key)?;
            if text.value.is_empty() {
                let message = format!("`{key}` of {} is empty", fields.what());
                fields.reject(ConfigProblemKind::BadRule, message, &text.at);
            }
            Some(text.value)
        });
        if group.is_none() && principal.is_none() {
            let message = format!("{} names neither `group` nor `principal`", fields.what());
            let at = fields.at().clone();
            fields.reject(ConfigProblemKind::BadRule, message, &at);
        }
        Self { group, principal }
    }
}

// === impl ArgumentCondition ===

impl ArgumentCondition {
    fn decode(fields: &mut ObjectFields<'_>) -> Option<Self> {
        let argument = fields.required("argument");
        let matches = fields.text("matches");
        let argument = argument.and_then(|text| match text.value.parse::<ArgumentPointer>() {
            Ok(pointer) => Some(pointer),
            Err(error) => {
                fields.reject(ConfigProblemKind::BadRule, error.to_string(), &text.at);
                None
            }
        });
        let Some(matches) = matches.filter(|text| !text.value.is_empty()) else {
            let message = format!("{} has no `matches`, or an empty one", fields.what());
            let at = fields.at().clone();
            fields.reject(ConfigProblemKind::BadRule, message, &at);
            return None;
        };
        Some(Self { argument: argument?, matches: matches.value })
    }
}
