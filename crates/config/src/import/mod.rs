//! Servers of other clients, turned into entries of ours.
//!
//! Every reader is a function from text to entries. None of them writes, and none touches the file it read.

mod client;
mod entry_builder;
mod plan;
mod reference_syntax;

mod claude_code;
mod codex;
mod continue_dev;
mod cursor;
mod gemini;
mod goose;
mod vscode;
mod windsurf;
mod zed;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::host_context::HostContext;
use crate::problem::ConfigProblem;
use crate::source::{
    self, ConfigNode, FileOwnership, FileReader, SourceLocation, SourceOrigin, jsonc, toml, yaml,
};

pub use client::{ClientApp, UnknownClientApp};
pub use plan::{ImportPlan, SkippedImport, plan_import};

/// A server found in another client's file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportCandidate {
    /// Its name there.
    pub name: String,
    /// Its entry, as ours.
    pub entry: Value,
    /// Where it stands.
    pub at: SourceLocation,
    /// The project it belongs to; absent where it is for all of them.
    pub project: Option<PathBuf>,
}

/// What a file of another client holds.
#[derive(Debug, Clone, Default)]
pub struct ClientServers {
    /// Its servers.
    pub servers: Vec<ImportCandidate>,
    /// What could not be taken over.
    pub problems: Vec<ConfigProblem>,
}

/// Reads a file of `client`.
pub fn read_client_file(client: ClientApp, origin: &SourceOrigin, text: &str) -> ClientServers {
    let parsed =
        match origin.path().and_then(|path| path.extension()).and_then(|name| name.to_str()) {
            Some("toml") => toml::parse(origin, text),
            Some("yaml" | "yml") => yaml::parse(origin, text, 0),
            _ => jsonc::parse(origin, text),
        };
    match parsed {
        Ok(node) => servers(client, &node),
        Err(problem) => ClientServers { servers: Vec::new(), problems: vec![problem] },
    }
}

/// Reads the user's own files of `client`; of servers that belong to one project only those of `root` are given.
///
/// Files of a project are not among them: whoever wrote the project wrote those, and an import would make them the
/// user's. [`read_client_file`] takes them where a person names one.
pub fn read_user_files(
    client: ClientApp,
    surroundings: &HostContext,
    root: &Path,
) -> ClientServers {
    let mut all = ClientServers::default();
    for path in client.user_files(surroundings) {
        match FileReader::default().read(&path, FileOwnership::Any) {
            source::FileReadResult::Nothing => {}
            source::FileReadResult::Unusable(problem) => all.problems.push(problem),
            source::FileReadResult::Text(text) => {
                let read = read_client_file(client, &SourceOrigin::file(&path), &text);
                let is_here =
                    |found: &ImportCandidate| found.project.as_deref().is_none_or(|at| at == root);
                all.servers.extend(read.servers.into_iter().filter(is_here));
                all.problems.extend(read.problems);
            }
        }
    }
    all
}

fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    match client {
        ClientApp::ClaudeCode => claude_code::servers(node),
        // Its file holds what everyone's `mcpServers` holds.
        ClientApp::ClaudeDesktop => entry_builder::read_unchanged(node.get("mcpServers")),
        ClientApp::Cursor => cursor::servers(node),
        ClientApp::VsCode => vscode::servers(node),
        ClientApp::Codex => codex::servers(node),
        ClientApp::Gemini => gemini::servers(node),
        ClientApp::Windsurf => windsurf::servers(node),
        ClientApp::Zed => zed::servers(node),
        ClientApp::Continue => continue_dev::servers(node),
        ClientApp::Goose => goose::servers(node),
    }
}
