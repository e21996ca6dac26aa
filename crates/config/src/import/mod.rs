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

use std::path::PathBuf;

use serde_json::Value;

use crate::problem::Problem;
use crate::source::{Location, Node, Origin, jsonc, toml, yaml};

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
    let parsed = match origin
        .path()
        .and_then(|path| path.extension())
        .and_then(|name| name.to_str())
    {
        Some("toml") => toml::parse(origin, text),
        Some("yaml" | "yml") => yaml::parse(origin, text, 0),
        _ => jsonc::parse(origin, text),
    };
    match parsed {
        Ok(node) => servers(client, &node),
        Err(problem) => Read {
            servers: Vec::new(),
            problems: vec![problem],
        },
    }
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
