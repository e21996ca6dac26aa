//! Readers of other clients' configuration files, which convert their servers into entries of ours.
//!
//! Used by `switchboard import`, and by `load::user` for the setting `inherit`. Every reader is a function
//! from text to entries. None of them writes, and none touches the file it read.

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

/// A server in another client's file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportCandidate {
    /// The server's name in that file.
    pub name: String,
    /// The server as an entry of ours.
    pub entry: Value,
    /// Where the server stands.
    pub at: SourceLocation,
    /// The project that the server belongs to; absent if it is for all projects.
    pub project: Option<PathBuf>,
}

/// The servers of another client's file.
#[derive(Debug, Clone, Default)]
pub struct ClientServers {
    /// The file's servers.
    pub servers: Vec<ImportCandidate>,
    /// The problems of servers that could not be converted.
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

/// Reads the user's own files of `client`; of servers that belong to one project, only those of `root` are
/// returned.
///
/// Files in a project are not read: their authors are the project's, and an import would make their servers
/// the user's. [`read_client_file`] reads them if a person names one.
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
        // The file of Claude Desktop has `mcpServers` in our form.
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
