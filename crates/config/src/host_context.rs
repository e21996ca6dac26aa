//! Everything the library would otherwise have to ask its process for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::source::{FileOwnership, SourceOrigin};

/// The environment of one caller.
pub type EnvironmentVariables = BTreeMap<String, String>;

/// The caller's side of the world: nothing in this crate reads the process's own environment, directory or clock.
#[derive(Debug, Clone)]
pub struct HostContext {
    /// The caller's environment.
    pub env: EnvironmentVariables,
    /// The caller's working directory, or the project they named.
    pub cwd: PathBuf,
    /// The caller's home.
    pub home: PathBuf,
    /// Where the user's settings, plugins and agents are.
    pub config_dir: PathBuf,
    /// Where approvals and locks are kept, privately.
    pub state_dir: PathBuf,
    /// Where the administrator's files are. Never taken from the environment.
    pub managed_dir: PathBuf,
    /// The caller's user id; files of others in the project tree are skipped.
    pub owner: Option<u32>,
    /// Seconds since 1970, written into approvals.
    pub now: u64,
}

/// Which conventions for folders apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and its like.
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

/// What was asked for besides the surroundings: flags of one run, and what the hub fetched.
#[derive(Debug, Clone, Default)]
pub struct ResolveOptions {
    /// Configuration given for this run.
    pub dynamic: Vec<DynamicConfig>,
    /// Whether only that configuration counts.
    pub strict: bool,
    /// The agent to resolve for.
    pub agent: Option<String>,
    /// Catalogues, already fetched.
    pub connectors: Vec<FetchedConnectors>,
}

impl ResolveOptions {
    /// Whether the run was told which configuration to use. Then a run without servers is a mistake in what was told,
    /// and the built-in server in their place would hide it.
    pub fn is_selective(&self) -> bool {
        self.strict || self.agent.is_some() || !self.dynamic.is_empty()
    }
}

/// One `--mcp-config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DynamicConfig {
    /// A file.
    File(PathBuf),
    /// The configuration itself.
    Text(String),
}

impl DynamicConfig {
    /// What the argument means: text that starts like an object is the configuration itself.
    pub fn from_argument(argument: &str, cwd: &Path) -> Self {
        if argument.trim_start().starts_with('{') {
            Self::Text(argument.to_owned())
        } else {
            Self::File(cwd.join(argument))
        }
    }
}

/// A catalogue of connectors as it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedConnectors {
    /// Where from.
    pub origin: SourceOrigin,
    /// What it said.
    pub text: String,
}

impl HostContext {
    /// The usual folders for this environment, on this platform. `None` where no home is known.
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
            env,
            cwd,
            home,
        })
    }

    pub(crate) fn ownership(&self) -> FileOwnership {
        self.owner.map_or(FileOwnership::Any, FileOwnership::Only)
    }
}

/// A relative value is ignored, as the XDG specification demands.
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
