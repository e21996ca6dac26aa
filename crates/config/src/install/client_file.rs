//! The configuration file of each client, and the form of its entries.
//!
//! Used by `install` and `setup`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::EntryMembers;
use crate::edit;
use crate::host_context::{HostContext, Platform};
use crate::import::ClientApp;

/// The clients that entries can be written for.
pub const INSTALLABLE_CLIENTS: [ClientApp; 8] = [
    ClientApp::ClaudeCode,
    ClientApp::ClaudeDesktop,
    ClientApp::Cursor,
    ClientApp::VsCode,
    ClientApp::Codex,
    ClientApp::Gemini,
    ClientApp::Windsurf,
    ClientApp::Zed,
];

/// The file in which a client keeps its servers.
#[derive(Clone)]
pub(super) struct ClientFile {
    pub(super) file: PathBuf,
    pub(super) member: &'static str,
    pub(super) format: ClientFileFormat,
    /// Whether the file also holds servers for single projects.
    pub(super) has_projects: bool,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ClientFileFormat {
    Json,
    Toml,
}

pub(super) fn find_client_file(
    client: ClientApp,
    surroundings: &HostContext,
    platform: Platform,
) -> Option<ClientFile> {
    let (member, format) = servers_member(client)?;
    let has_projects = client == ClientApp::ClaudeCode;
    Some(ClientFile { file: file(client, surroundings, platform)?, member, format, has_projects })
}

/// The member of a client's file that holds servers, and the format of the file.
fn servers_member(client: ClientApp) -> Option<(&'static str, ClientFileFormat)> {
    Some(match client {
        ClientApp::ClaudeCode
        | ClientApp::ClaudeDesktop
        | ClientApp::Cursor
        | ClientApp::Gemini
        | ClientApp::Windsurf => ("mcpServers", ClientFileFormat::Json),
        ClientApp::VsCode => ("servers", ClientFileFormat::Json),
        ClientApp::Zed => ("context_servers", ClientFileFormat::Json),
        ClientApp::Codex => ("mcp_servers", ClientFileFormat::Toml),
        ClientApp::Continue | ClientApp::Goose => return None,
    })
}

/// The path of the servers in a file of `client`; `None` for a client whose files are never edited.
pub(crate) fn servers_path(
    client: ClientApp,
    file: &Path,
    text: &str,
) -> Option<(ClientFileFormat, Vec<&'static str>)> {
    let (member, format) = servers_member(client)?;
    let is_settings = client == ClientApp::VsCode && file.ends_with("settings.json");
    // The settings of VS Code hold servers under `mcp`, unless they stand at the top.
    let is_nested = is_settings && !matches!(edit::get_member(text, &[member]), Ok(Some(_)));
    Some((format, if is_nested { vec!["mcp", member] } else { vec![member] }))
}

/// The file that exists; otherwise the one for the platform.
fn file(client: ClientApp, surroundings: &HostContext, platform: Platform) -> Option<PathBuf> {
    // VS Code also reads servers from its settings, an older place.
    let is_meant = |file: &PathBuf| client != ClientApp::VsCode || file.ends_with("mcp.json");
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
    // A file with one name on all platforms is the only one in the list.
    Some(files.swap_remove(usual.min(last)))
}

/// The members of a client's entry besides the command.
pub(super) fn new_entry(client: ClientApp) -> EntryMembers {
    let mut entry = EntryMembers::new();
    if matches!(client, ClientApp::ClaudeCode | ClientApp::VsCode) {
        entry.insert("type".to_owned(), "stdio".into());
    }
    entry
}
