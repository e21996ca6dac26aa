//! The check of a single entry, before it is written anywhere.
//!
//! Used by the commands `add`, `add-json` and `edit`, by `workspace` and by `import::plan`. It does not judge policy or
//! approval (`resolve`).

use serde_json::Value;

use crate::entry::{self, Completeness, Entry};
use crate::expand::{self, MissingReference, ReferenceKind, ReferenceLookup};
use crate::host_context::EnvironmentVariables;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::secret::secret_form_problem;
use crate::source::{ConfigNode, SourceLocation, SourceOrigin, jsonc};

/// The result of checking an entry.
#[derive(Debug)]
pub struct EntryCheck {
    /// The entry, expanded as far as its variables have values; absent if it is not usable.
    pub entry: Option<Entry>,
    /// The entry's problems, including missing variables. Secrets are not looked up.
    pub problems: Vec<ConfigProblem>,
    /// Whether the entry names neither a variable without a value nor a secret.
    pub is_complete: bool,
}

/// Checks an entry.
pub fn check_entry(
    name: &str,
    entry: &Value,
    at: &SourceLocation,
    env: &EnvironmentVariables,
) -> EntryCheck {
    let template = ConfigNode::from_json(entry, at);
    let mut problems = Vec::from_iter(secret_form_problem(name, &template, at));
    let is_formed = problems.is_empty();
    let (entry, missing) = decode(name, &template, env, &mut problems);
    let entry = entry.filter(|_| is_formed);
    let is_complete = missing.is_empty();
    // Whether there is a project is known when the server starts, and so are secrets.
    let variables = missing
        .iter()
        .filter(|missing| missing.kind == ReferenceKind::Variable && !missing.is_project());
    problems.extend(variables.map(|missing| missing_variable_problem(name, missing)));
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
    lookup: &dyn ReferenceLookup,
    problems: &mut Vec<ConfigProblem>,
) -> (Option<Entry>, Vec<MissingReference>) {
    let (node, missing) = expand::expand_node(template, lookup);
    let completeness =
        if missing.is_empty() { Completeness::Complete } else { Completeness::Partial };
    (entry::decode_entry(name, &node, completeness, problems), missing)
}

/// Decodes an entry without expanding any reference.
pub(crate) fn decode_literally(
    name: &str,
    template: &ConfigNode,
    problems: &mut Vec<ConfigProblem>,
) -> Option<Entry> {
    entry::decode_entry(name, template, Completeness::Complete, problems)
}

pub(crate) fn missing_variable_problem(name: &str, missing: &MissingReference) -> ConfigProblem {
    let MissingReference { field, name: variable, at, .. } = missing;
    if missing.is_project() {
        let message = format!(
            "server `{name}` needs a project for `${{{variable}}}` in `{field}`, and this folder is in none"
        );
        let hint =
            "start the client in a project: a folder with `.git`, `.mcp.json` or `.switchboard`";
        return ConfigProblem::warning(ConfigProblemKind::MissingVariable, message)
            .at(at.clone())
            .of_server(name)
            .hint(ProblemHint::Other(hint.to_owned()));
    }
    let message =
        format!("server `{name}` needs the variable `{variable}` in `{field}`, and it is not set");
    ConfigProblem::warning(ConfigProblemKind::MissingVariable, message)
        .at(at.clone())
        .of_server(name)
        .hint(ProblemHint::SetVariable(variable.clone()))
}
