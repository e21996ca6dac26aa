//! The reader for Claude Code: `mcpServers` in `~/.claude.json`, also per project, and `.mcp.json`.
//!
//! Used by `import`, also for Claude Desktop, which has files of this form.

use std::path::{Path, PathBuf};

use super::entry_builder::{EntryBuilder, read_each};
use super::reference_syntax::ReferenceSyntax;
use super::{ClientApp, ClientServers, ImportCandidate};
use crate::command_line;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::source::ConfigNode;

/// The list of servers that a project of Claude Code does without.
const DISABLED_SERVERS: &str = "disabledMcpServers";

/// Members with an equal meaning in our entries.
const SAME_MEMBERS: [&str; 13] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "envFile",
    "url",
    "headers",
    "headersHelper",
    "oauth",
    "alwaysLoad",
    "disabled",
    "tools",
];

pub(super) fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    let syntax = match client {
        ClientApp::ClaudeDesktop => ReferenceSyntax::Literal,
        _ => ReferenceSyntax::Ours,
    };
    let mut read = read_servers(client, node.get("mcpServers"), syntax);
    for project in node.get("projects").map_or(&[][..], ConfigNode::members) {
        let path = PathBuf::from(&project.key);
        let mut inner = read_servers(client, project.value.get("mcpServers"), syntax);
        for found in &mut inner.servers {
            found.project = Some(path.clone());
        }
        for name in project.value.get(DISABLED_SERVERS).map_or(&[][..], ConfigNode::elements) {
            disable(name, &path, &mut inner, &mut read);
        }
        read.servers.extend(inner.servers);
        read.problems.extend(inner.problems);
    }
    read
}

fn read_servers(
    client: ClientApp,
    servers: Option<&ConfigNode>,
    syntax: ReferenceSyntax,
) -> ClientServers {
    read_each(client, servers, |_, theirs, _| {
        let mut entry = EntryBuilder::new(theirs, syntax);
        Some(entry.copy_members(&SAME_MEMBERS).milliseconds("timeout").finish())
    })
}

/// Disables a server of a project. A server of the user stays enabled, because only one project does without it.
fn disable(name: &ConfigNode, project: &Path, inner: &mut ClientServers, user: &mut ClientServers) {
    let Some(word) = name.as_str() else { return };
    let is_meant = |found: &&mut ImportCandidate| found.name == word;
    if let Some(found) = inner.servers.iter_mut().find(is_meant) {
        found.entry["disabled"] = true.into();
    } else if let Some(found) = user.servers.iter_mut().find(is_meant) {
        let message =
            format!("`{word}` is disabled in {}, and becomes enabled there", project.display());
        let hint = format!("run `{}` in that folder", command_line("disable", [word]));
        found.losses.push(
            ConfigProblem::warning(ConfigProblemKind::CannotImport, message)
                .at(name.at.clone())
                .of_server(word)
                .hint(ProblemHint::Other(hint)),
        );
    }
}
