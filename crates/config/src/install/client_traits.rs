//! The traits of client applications that differ, in one table.
//!
//! Used by `setup`, by the commands `connect`, `install` and `clients`. The paths of their files are in
//! `import::ClientApp`, the form of their entries in `install::client_file`.

use std::path::{Path, PathBuf};

use crate::host_context::HostContext;
use crate::import::ClientApp;

/// What differs between client applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTraits {
    /// The names of its program on `PATH`.
    pub programs: &'static [&'static str],
    /// How the names begin that it gives itself in `clientInfo`, in lower case.
    pub info_names: &'static [&'static str],
    /// Whether it reads `.mcp.json` of a project itself.
    pub reads_mcp_json: bool,
}

impl ClientTraits {
    /// The traits of a client.
    pub fn of(client: ClientApp) -> Self {
        let (programs, info_names): (&[_], &[_]) = match client {
            ClientApp::ClaudeCode => (&["claude"], &["claude-code"]),
            ClientApp::ClaudeDesktop => (&["claude-desktop"], &["claude-ai", "claude-desktop"]),
            ClientApp::Cursor => (&["cursor", "cursor-agent"], &["cursor"]),
            ClientApp::VsCode => (&["code"], &["visual studio code", "vscode"]),
            ClientApp::Codex => (&["codex"], &["codex"]),
            ClientApp::Gemini => (&["gemini"], &["gemini"]),
            ClientApp::Windsurf => (&["windsurf"], &["windsurf"]),
            ClientApp::Zed => (&["zed", "zeditor"], &["zed"]),
            ClientApp::Continue => (&["cn"], &["continue"]),
            ClientApp::Goose => (&["goose"], &["goose"]),
        };
        Self { programs, info_names, reads_mcp_json: client == ClientApp::ClaudeCode }
    }

    /// Whether a client with this name in `clientInfo` is it.
    pub fn is_info_name(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.info_names.iter().any(|prefix| name.starts_with(prefix))
    }
}

/// The folders of a client's configuration, which exist once the client has run.
pub(crate) fn config_folders(client: ClientApp, host: &HostContext) -> Vec<PathBuf> {
    let files = client.user_files(host);
    match client {
        // Its file stands in the home folder itself, beside the folder.
        ClientApp::ClaudeCode => {
            let folder = host.env.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
            vec![folder.unwrap_or_else(|| host.home.join(".claude"))]
        }
        // `Code/User/mcp.json`
        ClientApp::VsCode => {
            files.iter().filter_map(|file| parent(parent(file)?)).map(Path::to_owned).collect()
        }
        _ => files.iter().filter_map(|file| parent(file)).map(Path::to_owned).collect(),
    }
}

fn parent(path: &Path) -> Option<&Path> {
    path.parent()
}
