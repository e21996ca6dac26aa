//! Looking at one entry by itself, before it is written anywhere.

use serde_json::Value;

use crate::entry::{self, Completeness, Entry};
use crate::expand::{self, Missing, Variables};
use crate::problem::{Hint, Kind, Problem};
use crate::source::{Location, Node, Origin, jsonc};
use crate::surroundings::Environment;

/// What there is to say about an entry.
#[derive(Debug)]
pub struct Checked {
    /// The entry, expanded as far as its variables have values; absent where it is not usable.
    pub entry: Option<Entry>,
    /// What is wrong with it, missing variables among them.
    pub problems: Vec<Problem>,
    /// Whether it could be started as it is.
    pub is_complete: bool,
}

/// Checks an entry.
pub fn check(name: &str, entry: &Value, at: &Location, env: &Environment) -> Checked {
    let mut problems = Vec::new();
    let (entry, missing) = decode(name, &Node::from_json(entry, at), env, &mut problems);
    let is_complete = missing.is_empty();
    problems.extend(missing.iter().map(|missing| missing_variable(name, missing)));
    Checked { entry, problems, is_complete }
}

/// Reads the text of one entry, as an editor or a command line gives it.
pub fn parse_entry(origin: &Origin, text: &str) -> Result<Value, Problem> {
    jsonc::parse(origin, text).map(|node| node.to_json())
}

/// Expands and decodes an entry.
pub(crate) fn decode(
    name: &str,
    template: &Node,
    variables: &dyn Variables,
    problems: &mut Vec<Problem>,
) -> (Option<Entry>, Vec<Missing>) {
    let (node, missing) = expand::node(template, variables);
    let completeness =
        if missing.is_empty() { Completeness::Complete } else { Completeness::Partial };
    (entry::entry(name, &node, completeness, problems), missing)
}

/// Decodes an entry in which `${VAR}` is text like any other.
pub(crate) fn decode_literally(
    name: &str,
    template: &Node,
    problems: &mut Vec<Problem>,
) -> Option<Entry> {
    entry::entry(name, template, Completeness::Complete, problems)
}

pub(crate) fn missing_variable(name: &str, missing: &Missing) -> Problem {
    let Missing { field, variable, at } = missing;
    let message =
        format!("server `{name}` needs the variable `{variable}` in `{field}`, and it is not set");
    Problem::warning(Kind::MissingVariable, message)
        .at(at.clone())
        .of_server(name)
        .hint(Hint::SetVariable(variable.clone()))
}
