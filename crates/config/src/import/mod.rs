//! Servers of other clients, turned into entries of ours.
//!
//! Every reader is a function from text to entries. None of them writes, and none touches the file it read.

mod client;
mod entries;
mod plan;
mod translate;

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

use crate::problem::Problem;
use crate::source::{self, Location, Node, Origin, Ownership, Shelf, jsonc, toml, yaml};
use crate::surroundings::Surroundings;

pub use client::{Client, UnknownClient};
pub use plan::{Plan, Skipped, plan};

/// A server found in another client's file.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its name there.
    pub name: String,
    /// Its entry, as ours.
    pub entry: Value,
    /// Where it stands.
    pub at: Location,
    /// The project it belongs to; absent where it is for all of them.
    pub project: Option<PathBuf>,
}

/// What a file of another client holds.
#[derive(Debug, Clone, Default)]
pub struct Read {
    /// Its servers.
    pub servers: Vec<Found>,
    /// What could not be taken over.
    pub problems: Vec<Problem>,
}

/// Reads a file of `client`.
pub fn read(client: Client, origin: &Origin, text: &str) -> Read {
    let parsed =
        match origin.path().and_then(|path| path.extension()).and_then(|name| name.to_str()) {
            Some("toml") => toml::parse(origin, text),
            Some("yaml" | "yml") => yaml::parse(origin, text, 0),
            _ => jsonc::parse(origin, text),
        };
    match parsed {
        Ok(node) => servers(client, &node),
        Err(problem) => Read { servers: Vec::new(), problems: vec![problem] },
    }
}

/// Reads the user's own files of `client`; of servers that belong to one project only those of `root` are given.
///
/// Files of a project are not among them: whoever wrote the project wrote those, and an import would make them the
/// user's. [`read`] takes them where a person names one.
pub fn gather(client: Client, surroundings: &Surroundings, root: &Path) -> Read {
    let mut all = Read::default();
    for path in client.user_files(surroundings) {
        match Shelf::default().read(&path, Ownership::Any) {
            source::Found::Nothing => {}
            source::Found::Unusable(problem) => all.problems.push(problem),
            source::Found::Text(text) => {
                let read = read(client, &Origin::file(&path), &text);
                let is_here = |found: &Found| found.project.as_deref().is_none_or(|at| at == root);
                all.servers.extend(read.servers.into_iter().filter(is_here));
                all.problems.extend(read.problems);
            }
        }
    }
    all
}

fn servers(client: Client, node: &Node) -> Read {
    match client {
        Client::ClaudeCode => claude_code::servers(node),
        // Its file holds what everyone's `mcpServers` holds.
        Client::ClaudeDesktop => entries::plain(node.get("mcpServers")),
        Client::Cursor => cursor::servers(node),
        Client::VsCode => vscode::servers(node),
        Client::Codex => codex::servers(node),
        Client::Gemini => gemini::servers(node),
        Client::Windsurf => windsurf::servers(node),
        Client::Zed => zed::servers(node),
        Client::Continue => continue_dev::servers(node),
        Client::Goose => goose::servers(node),
    }
}
