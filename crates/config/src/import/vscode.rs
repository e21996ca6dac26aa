//! `mcp.json` of VS Code: `servers`, and `inputs` that a person is asked for. Older ones are in `settings.json` under `mcp`.

use super::Read;
use super::entries::{Builder, each};
use super::translate::{Translate, input_variable};
use crate::problem::{Hint, Kind, Problem};
use crate::source::Node;

pub(super) fn servers(node: &Node) -> Read {
    let node = if node.get("servers").is_some() { node } else { node.get("mcp").unwrap_or(node) };
    let mut read = each(node.get("servers"), |_, theirs, _| {
        let mut entry = Builder::new(theirs, &Translate::Editor);
        if theirs.get("url").is_some() && theirs.get("type").is_none() {
            entry.set("type", "http");
        }
        entry.keep(&["type", "command", "args", "env", "cwd", "envFile", "url", "headers"]);
        Some(entry.finish())
    });
    let inputs = node.get("inputs").map_or(&[][..], Node::elements);
    read.problems.extend(inputs.iter().filter_map(input));
    read
}

/// Nobody is asked when a server starts here, so an input becomes a variable.
fn input(node: &Node) -> Option<Problem> {
    let id = node.get("id")?.as_str()?;
    let variable = input_variable(id);
    let message = format!("the input `{id}` becomes the variable `{variable}`");
    Some(
        Problem::note(Kind::CannotImport, message)
            .at(node.at.clone())
            .hint(Hint::SetVariable(variable)),
    )
}
