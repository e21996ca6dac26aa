//! Cases of calls as data: a caller, a tool, and the decision that the rules should make.
//!
//! Used by `switchboard permissions test`. It reads one file of JSON or YAML and judges nothing
//! (`core::permission::explain_call` does).

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint, ProblemSeverity};
use crate::settings::PermissionMode;
use crate::source::{
    ConfigNode, ConfigValue, LocatedValue, ObjectFields, SourceLocation, SourceOrigin, jsonc, yaml,
};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallVerdict {
    /// The call happens.
    Allow,
    /// A person is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionCase {
    /// Where it stands.
    pub at: SourceLocation,
    /// The id of the principal; absent for the person who runs the hub.
    pub principal: Option<String>,
    /// The groups of the principal.
    pub groups: Vec<String>,
    /// The tool: `server/tool` or `mcp__server__tool`.
    pub tool: String,
    /// The arguments, as JSON.
    pub arguments: String,
    /// The mode of the session, if it names one.
    pub mode: Option<PermissionMode>,
    /// What should happen.
    pub expect: CallVerdict,
}

/// The members of a case, for the hint of every mistake in one.
const SYNTAX_HINT: &str = "a case has `tool` and `expect` (allow, ask or deny), and may have `as`, `groups`, `arguments` and `mode`";

/// Reads a list of cases: YAML if the file's name ends so, else JSON. `Err` in the result are the mistakes in the file;
/// cases with a mistake count for nothing, so there are none then.
pub fn read_permission_cases(
    path: &Path,
) -> Result<Result<Vec<PermissionCase>, Vec<ConfigProblem>>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let origin = SourceOrigin::file(path);
    let is_yaml = path.extension().is_some_and(|it| it == "yaml" || it == "yml");
    let parsed =
        if is_yaml { yaml::parse(&origin, &text, 0) } else { jsonc::parse(&origin, &text) };
    Ok(parsed.map_err(|problem| vec![problem]).and_then(|node| decode_cases(&node)))
}

fn decode_cases(node: &ConfigNode) -> Result<Vec<PermissionCase>, Vec<ConfigProblem>> {
    let mut problems = Vec::new();
    if !matches!(node.value, ConfigValue::List(_)) {
        let message = format!("cases must be a list, not {}", node.kind());
        problems
            .push(ConfigProblem::error(ConfigProblemKind::WrongType, message).at(node.at.clone()));
    }
    let cases: Vec<_> =
        node.elements().iter().filter_map(|node| decode_case(node, &mut problems)).collect();
    for problem in &mut problems {
        problem.severity = ProblemSeverity::Error;
        problem.hint = Some(ProblemHint::Other(SYNTAX_HINT.to_owned()));
    }
    if problems.is_empty() { Ok(cases) } else { Err(problems) }
}

fn decode_case(node: &ConfigNode, problems: &mut Vec<ConfigProblem>) -> Option<PermissionCase> {
    let mut fields = ObjectFields::new(node, "a case", problems);
    let tool = fields.required("tool");
    let expect = fields.required("expect");
    let expect = expect.and_then(|word| choose(&mut fields, &word, CallVerdict::from_word));
    let mode = fields.text("mode");
    let mode = mode.and_then(|word| choose(&mut fields, &word, PermissionMode::from_word));
    let case = PermissionCase {
        at: node.at.clone(),
        principal: fields.string("as"),
        groups: fields.strings("groups"),
        arguments: fields.node("arguments").map_or_else(|| "{}".to_owned(), arguments),
        tool: tool?.value,
        mode,
        expect: expect?,
    };
    fields.finish();
    Some(case)
}

/// The arguments as JSON. A text holds them as a client would send them, also with a member twice.
fn arguments(node: &ConfigNode) -> String {
    node.as_str().map_or_else(|| node.to_json().to_string(), str::to_owned)
}

fn choose<T>(
    fields: &mut ObjectFields<'_>,
    word: &LocatedValue<String>,
    from_word: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let found = from_word(&word.value);
    if found.is_none() {
        let message = format!("`{}` is not a word that is known there", word.value);
        fields.reject(ConfigProblemKind::BadValue, message, &word.at);
    }
    found
}

// === impl CallVerdict ===

impl CallVerdict {
    fn from_word(word: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny].into_iter().find(|verdict| verdict.word() == word)
    }

    /// The verdict's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for CallVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
