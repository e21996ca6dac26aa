//! The context of a caller: environment, folders, user, time and secrets, given as values.
//!
//! Used by every function of this crate that would otherwise ask its process. It does not read the process's
//! own environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::secret::{NoSecrets, SecretLookup};
use crate::source::{FileOwnership, SourceOrigin};

/// The environment of one caller.
pub type EnvironmentVariables = BTreeMap<String, String>;

/// The caller's environment, folders, user and time. Nothing in this crate reads the process's own
/// environment, directory or clock.
#[derive(Debug, Clone)]
pub struct HostContext {
    /// The caller's environment.
    pub env: EnvironmentVariables,
    /// The caller's working directory, or the project that the caller named.
    pub cwd: PathBuf,
    /// The caller's home directory.
    pub home: PathBuf,
    /// The folder of the user's settings, plugins and agents.
    pub config_dir: PathBuf,
    /// The private folder of approvals and locks.
    pub state_dir: PathBuf,
    /// The folder of the administrator's files. Never taken from the environment.
    pub managed_dir: PathBuf,
    /// The caller's user id; files of other users in the project tree are skipped.
    pub owner: Option<u32>,
    /// Seconds since 1970, written into approvals.
    pub now: u64,
    /// The values of secrets, which are asked for only when a server is about to be ready.
    pub secrets: Arc<dyn SecretLookup>,
}

/// The platform whose conventions for folders apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and similar systems.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Platform {
    /// The platform that this program was built for.
    pub fn current() -> Self {
        match std::env::consts::OS {
            "macos" => Self::Mac,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }
}

/// The options of one run: its flags, and fetched connector catalogs.
#[derive(Debug, Clone, Default)]
pub struct ResolveOptions {
    /// The configuration given for this run (`--mcp-config`).
    pub dynamic: Vec<DynamicConfig>,
    /// Whether only that configuration is used.
    pub strict: bool,
    /// The agent to resolve for.
    pub agent: Option<String>,
    /// The fetched connector catalogs.
    pub connectors: Vec<FetchedConnectors>,
}

impl ResolveOptions {
    /// Whether arguments of the run select the configuration. Then a run without servers is a mistake in the
    /// arguments, which the built-in server would hide.
    pub fn is_selective(&self) -> bool {
        self.strict || self.agent.is_some() || !self.dynamic.is_empty()
    }
}

/// One `--mcp-config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DynamicConfig {
    /// A file.
    File(PathBuf),
    /// The JSON text itself.
    Text(String),
}

impl DynamicConfig {
    /// Interprets the argument: a text that starts like a JSON object is the configuration itself.
    pub fn from_argument(argument: &str, cwd: &Path) -> Self {
        if argument.trim_start().starts_with('{') {
            Self::Text(argument.to_owned())
        } else {
            Self::File(cwd.join(argument))
        }
    }
}

/// A fetched connector catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedConnectors {
    /// The catalog's URL or cached copy.
    pub origin: SourceOrigin,
    /// The catalog's text.
    pub text: String,
}

impl HostContext {
    /// The default folders for this environment and platform. `None` without a home directory.
    pub fn for_platform(
        platform: Platform,
        env: EnvironmentVariables,
        cwd: PathBuf,
    ) -> Option<Self> {
        let home =
            folder(&env, if platform == Platform::Windows { "USERPROFILE" } else { "HOME" })?;
        let (config, state) = user_folders(platform, &env, &home);
        Some(Self {
            config_dir: folder(&env, "SWITCHBOARD_CONFIG_DIR").unwrap_or(config),
            state_dir: state,
            managed_dir: managed_folder(platform).into(),
            owner: None,
            now: 0,
            secrets: Arc::new(NoSecrets),
            env,
            cwd,
            home,
        })
    }

    pub(crate) fn ownership(&self) -> FileOwnership {
        self.owner.map_or(FileOwnership::Any, FileOwnership::Only)
    }
}

/// The folder in a variable. A relative value is ignored, as the XDG specification demands.
fn folder(env: &EnvironmentVariables, name: &str) -> Option<PathBuf> {
    env.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn user_folders(platform: Platform, env: &EnvironmentVariables, home: &Path) -> (PathBuf, PathBuf) {
    let (config, state) = match platform {
        Platform::Linux => (home.join(".config"), home.join(".local/state")),
        Platform::Mac => {
            let support = home.join("Library/Application Support");
            (support.clone(), support)
        }
        Platform::Windows => (
            folder(env, "APPDATA").unwrap_or_else(|| home.join("AppData/Roaming")),
            folder(env, "LOCALAPPDATA").unwrap_or_else(|| home.join("AppData/Local")),
        ),
    };
    (
        folder(env, "XDG_CONFIG_HOME").unwrap_or(config).join("switchboard"),
        folder(env, "XDG_STATE_HOME").unwrap_or(state).join("switchboard"),
    )
}

fn managed_folder(platform: Platform) -> &'static str {
    match platform {
        Platform::Linux => "/etc/switchboard",
        Platform::Mac => "/Library/Application Support/Switchboard",
        Platform::Windows => "C:\\ProgramData\\Switchboard",
    }
}
