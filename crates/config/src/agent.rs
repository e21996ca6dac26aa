//! Agent files: Markdown with front matter that names the servers and tools of an agent.
//!
//! Used by `load::project`, which finds the files, and by `resolve::agent`, which applies them. It does not
//! run an agent.

use std::path::PathBuf;

use serde_json::json;

use crate::approval::{ApprovalItem, ApprovalItemKind};
use crate::entry::ToolFilter;
use crate::problem::{ConfigProblem, ConfigProblemKind};
use crate::scope::Scope;
use crate::source::{
    ConfigMember, ConfigNode, ConfigValue, LocatedValue, ObjectFields, SourceLocation,
    SourceOrigin, yaml,
};

/// The requested agent, as far as it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedAgent {
    /// The agent's name.
    pub name: String,
    /// Where the agent's file stands.
    pub at: SourceLocation,
    /// Which tools the agent sees, as full names or globs.
    pub tools: ToolFilter,
    /// The agent's prompt; absent until the file is trusted.
    pub prompt: Option<String>,
}

/// A parsed agent file.
#[derive(Debug, Clone)]
pub(crate) struct AgentFile {
    pub(crate) name: String,
    pub(crate) at: SourceLocation,
    /// The item to approve before the file is trusted; absent for the user's own agents.
    pub(crate) item: Option<ApprovalItem>,
    /// The folder in which its inline servers start.
    pub(crate) start_folder: PathBuf,
    /// The agent's servers; absent means all.
    pub(crate) servers: Option<Vec<AgentServer>>,
    pub(crate) required: Vec<LocatedValue<String>>,
    pub(crate) tools: ToolFilter,
    pub(crate) prompt: String,
}

/// A server of an agent.
#[derive(Debug, Clone)]
pub(crate) enum AgentServer {
    /// A configured server, by name.
    ByName(LocatedValue<String>),
    /// An inline server, which lives as long as the agent's session.
    Inline(ConfigMember),
}

/// Parses an agent file.
pub(crate) fn parse_agent_file(
    origin: &SourceOrigin,
    text: &str,
    scope: Scope,
    start_folder: PathBuf,
    problems: &mut Vec<ConfigProblem>,
) -> Option<AgentFile> {
    let stem = origin.path().and_then(|path| path.file_stem()).and_then(|stem| stem.to_str())?;
    let (front, prompt) = split_front_matter(text);
    let node = match yaml::parse(origin, front, 1) {
        Ok(node) => node,
        Err(problem) => {
            problems.push(problem);
            return None;
        }
    };
    let mut fields = ObjectFields::new(&node, &format!("agent `{stem}`"), problems);
    fields.allow(&["description", "model", "color"]);
    let name = fields.string("name").unwrap_or_else(|| stem.to_owned());
    let content = json!({ "frontMatter": node.to_json(), "prompt": prompt });
    let agent = AgentFile {
        item: (!scope.is_trusted()).then(|| {
            ApprovalItem::new(ApprovalItemKind::Agent, name.clone(), content, origin.start())
        }),
        start_folder,
        servers: servers(&mut fields),
        required: fields.texts("requiredMcpServers").unwrap_or_default(),
        tools: tools(&mut fields),
        at: origin.start(),
        prompt: prompt.to_owned(),
        name,
    };
    // An agent with unreadable limits would see more than it should, so it is dropped.
    fields.finish().then_some(agent)
}

/// Splits a text into front matter and body; without front matter, the first part is empty.
fn split_front_matter(text: &str) -> (&str, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return ("", text);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (&rest[..at], &rest[at + line.len()..]);
        }
        at += line.len();
    }
    (rest, "")
}

fn servers(fields: &mut ObjectFields<'_>) -> Option<Vec<AgentServer>> {
    let node = fields.node("mcpServers")?;
    match &node.value {
        ConfigValue::Object(members) => {
            Some(members.iter().cloned().map(AgentServer::Inline).collect())
        }
        ConfigValue::List(elements) => {
            Some(elements.iter().flat_map(|element| server(fields, element)).collect())
        }
        _ => {
            let message = format!("`mcpServers` of {} must be a list or an object", fields.what());
            fields.reject(ConfigProblemKind::WrongType, message, &node.at);
            None
        }
    }
}

fn server(fields: &mut ObjectFields<'_>, node: &ConfigNode) -> Vec<AgentServer> {
    match &node.value {
        ConfigValue::String(name) => {
            vec![AgentServer::ByName(LocatedValue::new(name.clone(), node.at.clone()))]
        }
        ConfigValue::Object(members) => members.iter().cloned().map(AgentServer::Inline).collect(),
        _ => {
            let message = format!("a server of {} must be a name or an entry", fields.what());
            fields.reject(ConfigProblemKind::WrongType, message, &node.at);
            Vec::new()
        }
    }
}

/// Reads `tools`, a list, a line of names, or `{allow, deny}`, and `disallowedTools`, a list or a line.
fn tools(fields: &mut ObjectFields<'_>) -> ToolFilter {
    let mut filter = match fields.node("tools").map(|node| &node.value) {
        None => ToolFilter::default(),
        Some(ConfigValue::Object(_)) => {
            fields.nested("tools", crate::entry::decode_tools).unwrap_or_default()
        }
        Some(_) => ToolFilter { allow: Some(names(fields, "tools")), deny: Vec::new() },
    };
    filter.deny.extend(names(fields, "disallowedTools"));
    filter
}

fn names(fields: &mut ObjectFields<'_>, key: &'static str) -> Vec<String> {
    match fields.node(key).map(|node| &node.value) {
        Some(ConfigValue::String(line)) => line
            .split(',')
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
        Some(_) => fields.strings(key),
        None => Vec::new(),
    }
}
