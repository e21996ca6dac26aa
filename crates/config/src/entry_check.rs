//! The check of a single entry, before it is written anywhere.
//!
//! Used by the commands `add`, `add-json` and `edit`, by `workspace` and by `import::plan`. It does not judge policy or
//! approval (`resolve`).

use serde_json::Value;

use crate::entry::{self, Completeness, Entry};
use crate::expand::{self, MissingVariable, VariableLookup};
use crate::host_context::EnvironmentVariables;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::source::{ConfigNode, SourceLocation, SourceOrigin, jsonc};

/// The result of checking an entry.
#[derive(Debug)]
pub struct EntryCheck {
    /// The entry, expanded as far as its variables have values; absent if it is not usable.
    pub entry: Option<Entry>,
    /// The entry's problems, including missing variables.
    pub problems: Vec<ConfigProblem>,
    /// Whether the entry could be started now.
    pub is_complete: bool,
}

/// Checks an entry.
pub fn check_entry(
    name: &str,
    entry: &Value,
    at: &SourceLocation,
    env: &EnvironmentVariables,
) -> EntryCheck {
    let mut problems = Vec::new();
    let (entry, missing) = decode(name, &ConfigNode::from_json(entry, at), env, &mut problems);
    let is_complete = missing.is_empty();
    problems.extend(missing.iter().map(|missing| missing_variable_problem(name, missing)));
    EntryCheck { entry, problems, is_complete }
}

/// Parses the text of one entry from an editor or a command line.
pub fn parse_entry(origin: &SourceOrigin, text: &str) -> Result<Value, ConfigProblem> {
    jsonc::parse(origin, text).map(|node| node.to_json())
}

/// Expands and decodes an entry.
pub(crate) fn decode(
    name: &str,
    template: &ConfigNode,
    variables: &dyn VariableLookup,
    problems: &mut Vec<ConfigProblem>,
) -> (Option<Entry>, Vec<MissingVariable>) {
    let (node, missing) = expand::expand_node(template, variables);
    let completeness =
        if missing.is_empty() { Completeness::Complete } else { Completeness::Partial };
    (entry::decode_entry(name, &node, completeness, problems), missing)
}

/// Decodes an entry without expanding `${VAR}`.
pub(crate) fn decode_literally(
    name: &str,
    template: &ConfigNode,
    problems: &mut Vec<ConfigProblem>,
) -> Option<Entry> {
    entry::decode_entry(name, template, Completeness::Complete, problems)
}

pub(crate) fn missing_variable_problem(name: &str, missing: &MissingVariable) -> ConfigProblem {
    let MissingVariable { field, variable, at } = missing;
    let message =
        format!("server `{name}` needs the variable `{variable}` in `{field}`, and it is not set");
    ConfigProblem::warning(ConfigProblemKind::MissingVariable, message)
        .at(at.clone())
        .of_server(name)
        .hint(ProblemHint::SetVariable(variable.clone()))
}
