//! Where each client keeps its servers, and what its entries look like.

use std::path::PathBuf;

use super::Members;
use crate::import::Client;
use crate::surroundings::{Platform, Surroundings};

/// The clients that entries are written for.
pub const CLIENTS: [Client; 8] = [
    Client::ClaudeCode,
    Client::ClaudeDesktop,
    Client::Cursor,
    Client::VsCode,
    Client::Codex,
    Client::Gemini,
    Client::Windsurf,
    Client::Zed,
];

/// Where a client keeps its servers.
pub(super) struct Place {
    pub(super) file: PathBuf,
    pub(super) member: &'static str,
    pub(super) format: Format,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Toml,
}

pub(super) fn of(client: Client, surroundings: &Surroundings, platform: Platform) -> Option<Place> {
    let (member, format) = match client {
        Client::ClaudeCode
        | Client::ClaudeDesktop
        | Client::Cursor
        | Client::Gemini
        | Client::Windsurf => ("mcpServers", Format::Json),
        Client::VsCode => ("servers", Format::Json),
        Client::Zed => ("context_servers", Format::Json),
        Client::Codex => ("mcp_servers", Format::Toml),
        Client::Continue | Client::Goose => return None,
    };
    Some(Place { file: file(client, surroundings, platform)?, member, format })
}

/// The file that is there; else the one the platform would have.
fn file(client: Client, surroundings: &Surroundings, platform: Platform) -> Option<PathBuf> {
    // VS Code reads servers from its settings too, for the sake of older ones.
    let is_meant = |file: &PathBuf| client != Client::VsCode || file.ends_with("mcp.json");
    let files = client.user_files(surroundings);
    let mut files: Vec<_> = files.into_iter().filter(is_meant).collect();
    if let Some(there) = files.iter().position(|file| file.exists()) {
        return Some(files.swap_remove(there));
    }
    let usual = match platform {
        Platform::Linux => 0,
        Platform::Mac => 1,
        Platform::Windows => 2,
    };
    let last = files.len().checked_sub(1)?;
    // One that is called the same everywhere comes alone.
    Some(files.swap_remove(usual.min(last)))
}

/// What an entry of a client says besides the command.
pub(super) fn fresh(client: Client) -> Members {
    let mut entry = Members::new();
    if matches!(client, Client::ClaudeCode | Client::VsCode) {
        entry.insert("type".to_owned(), "stdio".into());
    }
    entry
}
