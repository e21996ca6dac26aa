//! The known client applications, and the paths of their configuration files.
//!
//! Used by `import`, `install` and `load::user`, and by the commands `import`, `install` and `uninstall`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::host_context::HostContext;

/// A client application with readable configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the clients' own")]
pub enum ClientApp {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    VsCode,
    Codex,
    Gemini,
    Windsurf,
    Zed,
    Continue,
    Goose,
}

/// The owner of a client's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFileOwner {
    /// The user's own.
    User,
    /// The project's files, which other people may have written.
    Project,
}

/// A text that names no known client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a client we can read; there are {}", ClientApp::ALL.map(ClientApp::name).join(", "))]
pub struct UnknownClientApp {
    word: String,
}

impl ClientApp {
    /// All clients.
    pub const ALL: [Self; 10] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::Gemini,
        Self::Windsurf,
        Self::Zed,
        Self::Continue,
        Self::Goose,
    ];

    /// The client's name as people write it.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Continue => "Continue",
            Self::Goose => "Goose",
        }
    }

    /// The client's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Continue => "continue",
            Self::Goose => "goose",
        }
    }

    /// The user's files of this client, on all platforms; some may not exist. A folder stands for the files in it.
    pub fn user_files(self, surroundings: &HostContext) -> Vec<PathBuf> {
        let home = &surroundings.home;
        let folder = |name: &str| {
            surroundings.env.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let config = folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let support = home.join("Library/Application Support");
        let roaming = folder("APPDATA");
        let everywhere = |name: &str| {
            let folders = [Some(config.clone()), Some(support.clone()), roaming.clone()];
            folders.into_iter().flatten().map(|folder| folder.join(name)).collect::<Vec<_>>()
        };
        match self {
            Self::ClaudeCode => {
                let folder = folder("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone());
                vec![folder.join(".claude.json")]
            }
            Self::ClaudeDesktop => everywhere("Claude/claude_desktop_config.json"),
            Self::Cursor => vec![home.join(".cursor/mcp.json")],
            Self::VsCode => {
                [everywhere("Code/User/mcp.json"), everywhere("Code/User/settings.json")].concat()
            }
            Self::Codex => {
                vec![
                    folder("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml"),
                ]
            }
            Self::Gemini => vec![home.join(".gemini/settings.json")],
            Self::Windsurf => vec![home.join(".codeium/windsurf/mcp_config.json")],
            Self::Zed => {
                let mut files = vec![config.join("zed/settings.json")];
                files.extend(roaming.map(|folder| folder.join("Zed/settings.json")));
                files
            }
            Self::Continue => {
                let files = ["config.yaml", "config.json", "mcpServers"];
                files.map(|file| home.join(".continue").join(file)).to_vec()
            }
            Self::Goose => {
                let mut files = vec![config.join("goose/config.yaml")];
                files.extend(roaming.map(|folder| folder.join("Block/goose/config/config.yaml")));
                files
            }
        }
    }

    /// The file in which the client notes which servers are switched off, if that is one of its own.
    pub(crate) fn switch_file(self, surroundings: &HostContext) -> Option<PathBuf> {
        let file = surroundings.home.join(".gemini/mcp-server-enablement.json");
        (self == Self::Gemini).then_some(file)
    }

    /// The files of this client in a project. A folder stands for the files in it.
    pub fn project_files(self, root: &Path) -> Vec<PathBuf> {
        let file = match self {
            Self::ClaudeCode => ".mcp.json",
            Self::Cursor => ".cursor/mcp.json",
            Self::VsCode => ".vscode/mcp.json",
            Self::Codex => ".codex/config.toml",
            Self::Gemini => ".gemini/settings.json",
            Self::Zed => ".zed/settings.json",
            Self::Windsurf => {
                return [".windsurf/mcp_config.json", ".windsurf/mcp.json"]
                    .map(|file| root.join(file))
                    .into();
            }
            Self::Continue => ".continue/mcpServers",
            Self::ClaudeDesktop | Self::Goose => {
                return Vec::new();
            }
        };
        vec![root.join(file)]
    }
}

impl fmt::Display for ClientApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ClientApp {
    type Err = UnknownClientApp;

    fn from_str(word: &str) -> Result<Self, UnknownClientApp> {
        let client = Self::ALL.into_iter().find(|client| client.name() == word);
        client.ok_or_else(|| UnknownClientApp { word: word.to_owned() })
    }
}
