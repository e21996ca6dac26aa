//! The reader for VS Code: `servers` in `mcp.json`, with `inputs` that VS Code asks the user for; older
//! servers stand in `settings.json` under `mcp`.
//!
//! Used by `import`.

use super::ClientServers;
use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::{ReferenceSyntax, input_variable};
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::source::ConfigNode;

pub(super) fn servers(node: &ConfigNode) -> ClientServers {
    let node = if node.get("servers").is_some() { node } else { node.get("mcp").unwrap_or(node) };
    let mut read = read_each(node.get("servers"), |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, &ReferenceSyntax::Editor);
        if theirs.get("url").is_some() && theirs.get("type").is_none() {
            entry.set("type", "http");
        }
        entry.copy_members(&["type", "command", "args", "env", "cwd", "envFile", "url", "headers"]);
        Some(entry.finish())
    });
    let inputs = node.get("inputs").map_or(&[][..], ConfigNode::elements);
    read.problems.extend(inputs.iter().filter_map(input));
    read
}

/// Turns an input into a variable, because this program does not ask the user when a server starts.
fn input(node: &ConfigNode) -> Option<ConfigProblem> {
    let id = node.get("id")?.as_str()?;
    let variable = input_variable(id);
    let message = format!("the input `{id}` becomes the variable `{variable}`");
    Some(
        ConfigProblem::note(ConfigProblemKind::CannotImport, message)
            .at(node.at.clone())
            .hint(ProblemHint::SetVariable(variable)),
    )
}
