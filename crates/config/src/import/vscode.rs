//! The reader for VS Code: `servers` in `mcp.json`, with `inputs` that VS Code asks the user for; older
//! servers stand in `settings.json` under `mcp`.
//!
//! Used by `import`. It does not know the values that VS Code was given for inputs, which are in the editor's own store.

use std::collections::BTreeMap;

use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::{ReferenceSyntax, input_variable, replace_between};
use super::{ClientApp, ClientServers};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::secret::secret_reference;
use crate::source::{ConfigNode, ConfigValue};

/// A value that VS Code asks the user for when a server starts, which this program does not.
struct Input<'a> {
    id: &'a str,
    /// The secret, or the variable, in its place.
    name: String,
    is_password: bool,
    default: Option<&'a str>,
    node: &'a ConfigNode,
}

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    let node = if node.get("servers").is_some() { node } else { node.get("mcp").unwrap_or(node) };
    let inputs = node.get("inputs").map_or(&[][..], ConfigNode::elements);
    let inputs: Vec<_> = inputs.iter().filter_map(Input::read).collect();
    let references: BTreeMap<_, _> =
        inputs.iter().map(|input| (input.id, input.reference())).collect();
    let servers = node.get("servers").map(|servers| replace_inputs(servers, &references));
    let mut read = read_each(client, servers.as_ref(), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, ReferenceSyntax::Editor);
        if entry.has("url") && !entry.has("type") {
            entry.set("type", "http");
        }
        entry.copy_members(&[
            "type", "command", "args", "env", "cwd", "envFile", "url", "headers", "disabled",
        ]);
        entry.copy_nested("oauth", "oauth", &[("clientId", "clientId")]);
        entry.pass_over(&["gallery", "version", "description"]);
        Some(entry.finish())
    });
    read.problems.extend(inputs.iter().map(Input::note));
    read
}

/// A copy of a tree with our references in place of `${input:…}`.
fn replace_inputs(node: &ConfigNode, references: &BTreeMap<&str, String>) -> ConfigNode {
    let mut replaced = node.clone();
    match &mut replaced.value {
        ConfigValue::String(text) => {
            let reference = |id: &str| references.get(id).cloned();
            *text = replace_between(text, "${input:", "}", reference);
        }
        ConfigValue::List(elements) => {
            for element in elements {
                *element = replace_inputs(element, references);
            }
        }
        ConfigValue::Object(members) => {
            for member in members {
                member.value = replace_inputs(&member.value, references);
            }
        }
        _ => {}
    }
    replaced
}

// === impl Input ===

impl<'a> Input<'a> {
    fn read(node: &'a ConfigNode) -> Option<Self> {
        let id = node.get("id")?.as_str()?;
        let text = |member: &str| node.get(member).and_then(ConfigNode::as_str);
        Some(Self {
            id,
            name: input_variable(id),
            is_password: node.get("password").and_then(ConfigNode::as_bool) == Some(true),
            // A default ends at the first brace.
            default: text("default").filter(|default| !default.contains('}')),
            node,
        })
    }

    fn reference(&self) -> String {
        let name = &self.name;
        match self.default {
            _ if self.is_password => secret_reference(name),
            Some(default) => format!("${{{name}:-{default}}}"),
            None => format!("${{{name}}}"),
        }
    }

    fn note(&self) -> ConfigProblem {
        let Self { id, name, .. } = self;
        let (what, hint) = if self.is_password {
            ("secret", ProblemHint::SetSecret(name.clone()))
        } else {
            ("variable", ProblemHint::SetVariable(name.clone()))
        };
        let message = format!("the input `{id}` becomes the {what} `{name}`");
        let note = ConfigProblem::note(ConfigProblemKind::CannotImport, message);
        note.at(self.node.at.clone()).hint(hint)
    }
}
