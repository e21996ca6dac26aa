//! The only module that reads the process's environment, current folder, user and clock.
//!
//! Used by `main` and all commands, mostly through [`Caller`]. It does not interpret settings (`config` does).

#![expect(
    clippy::disallowed_methods,
    reason = "this module is the one place that reads the environment"
)]

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_config::{
    ConfigWorkspace, Desired, DynamicConfig, EnvironmentVariables, HostContext, Platform,
    ResolveOptions,
};
use switchboard_core::ide;

use switchboard_auth::{FileSignInStore, Keychain, NoKeychain, SystemKeychain};
use switchboard_process::ProcessGuard;

use crate::args::Global;
use crate::notice::Notice;
use crate::path_display::PathDisplay;
use crate::report::Failure;

/// How long a command waits for the connector catalog before it uses the cached copy.
const CATALOGUE_DEADLINE: Duration = Duration::from_secs(10);

/// The person who typed the command: folder, environment and global flags.
pub(crate) struct Caller {
    pub(crate) surroundings: HostContext,
    pub(crate) workspace: ConfigWorkspace,
    asked: ResolveOptions,
    /// Whether the command must not use the hub (`--standalone`).
    standalone: bool,
    /// The credentials of servers of the connector catalog.
    pub(crate) catalogue: Option<Arc<switchboard_sources::ConnectorCredentials>>,
    /// Problems from before the command began.
    pub(crate) notices: Vec<Notice>,
    /// The whole environment, also variables that are not UTF-8.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// The variable with the D-Bus address under which a Linux desktop has its keychain.
const SESSION_BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

impl Caller {
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let cwd = env::current_dir()
            .map_err(|error| Failure::new("cannot tell the current folder", error))?;
        let project = match &global.project {
            Some(project) => folder(&cwd.join(project), "--project")?,
            None => cwd.clone(),
        };
        let mut surroundings =
            HostContext::for_platform(platform(), environment(), project).ok_or_else(no_home)?;
        if let Some(config_dir) = &global.config_dir {
            surroundings.config_dir = cwd.join(config_dir);
        }
        surroundings.owner = Some(nix::unistd::geteuid().as_raw());
        surroundings.now = now();
        let dynamic = global.mcp_config.iter();
        let mut asked = ResolveOptions {
            dynamic: dynamic.map(|argument| DynamicConfig::from_argument(argument, &cwd)).collect(),
            strict: global.strict_mcp_config,
            ..ResolveOptions::default()
        };
        asked
            .connectors
            .extend(switchboard_sources::cached_connector_catalog(&surroundings, &asked));
        Ok(Self {
            workspace: ConfigWorkspace::new(surroundings.clone(), asked.clone()),
            surroundings,
            asked,
            standalone: global.standalone,
            catalogue: None,
            notices: Vec::new(),
            variables: variables(),
        })
    }

    /// Fetches the connector catalog; on failure keeps the cached copy and adds a notice.
    pub(crate) async fn with_catalogue(mut self) -> Result<Self, Failure> {
        let guard = ProcessGuard::this_program().map_err(|error| {
            Failure::new("cannot open this program to guard what it starts", error)
        })?;
        let mut options = switchboard_sources::SourcesOptions::new(guard);
        options.timing.fetch = CATALOGUE_DEADLINE;
        self.asked.connectors.clear();
        let (fetched, problem) =
            switchboard_sources::fetch_connector_catalog(&self.surroundings, &self.asked, &options)
                .await;
        self.catalogue =
            switchboard_sources::connector_credentials(&self.surroundings, &self.asked, &options);
        self.asked.connectors.extend(fetched);
        self.workspace = ConfigWorkspace::new(self.surroundings.clone(), self.asked.clone());
        self.notices.extend(
            problem.map(|problem| {
                Notice::warning(problem.to_string()).with_location(problem.location())
            }),
        );
        Ok(self)
    }

    /// Whether the command must not use the hub: by flag, or because its configuration is for this run alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.standalone || self.asked.strict || !self.asked.dynamic.is_empty()
    }

    /// The options of the command line that configuration depends on.
    pub(crate) fn asked(&self) -> &ResolveOptions {
        &self.asked
    }

    /// The desired state, with the editor in which the project is open; and problems of editors' lock files.
    pub(crate) fn desired(&self) -> (Desired, Vec<Notice>) {
        let mut desired = self.workspace.desired();
        let problems = ide::add_editor(&mut desired, &self.surroundings, &self.asked);
        (desired, problems.iter().map(Notice::from).collect())
    }

    /// The store of sign-ins.
    pub(crate) fn sign_ins(&self) -> Arc<FileSignInStore> {
        let keychain: Arc<dyn Keychain> = match (platform(), self.variable(SESSION_BUS)) {
            // Without a session bus there is no keychain, and looking for one would start a bus.
            (Platform::Linux, None) => Arc::new(NoKeychain),
            _ => Arc::new(SystemKeychain),
        };
        Arc::new(FileSignInStore::new(self.surroundings.state_dir.join("sign-ins"), keychain))
    }

    /// The value of a variable, if it is not blank.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.surroundings.env.get(name)?;
        (!value.trim().is_empty()).then_some(value)
    }
}

/// Whether a server of a hub started this program, directly or through scripts.
pub(crate) fn is_beneath_us() -> bool {
    env::var_os(switchboard_core::connection::PARENT_MARKER_VARIABLE).is_some()
}

/// The whole environment.
pub(crate) fn variables() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// Whether `NO_COLOR` is set, or the terminal is dumb.
pub(crate) fn is_colourless() -> bool {
    let says = |name| env::var_os(name).filter(|value| !value.is_empty());
    says("NO_COLOR").is_some() || says("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// This program's own file.
pub(crate) fn program() -> Option<PathBuf> {
    env::current_exe().ok()
}

/// The programs that open a link, in the order to try them.
pub(crate) fn browsers() -> Vec<String> {
    let named = env::var("BROWSER").unwrap_or_default();
    let named = named.split(':').filter(|name| !name.trim().is_empty()).map(str::to_owned);
    let usual = if env::consts::OS == "macos" { "open" } else { "xdg-open" };
    named.chain([usual.to_owned()]).collect()
}

/// The words of the command line.
pub(crate) fn command_line_words() -> Vec<OsString> {
    env::args_os().collect()
}

/// The folders that paths are shown relative to.
pub(crate) fn places() -> PathDisplay {
    PathDisplay::new(env::current_dir().ok(), env::home_dir())
}

/// The environment as text. Variables that are not UTF-8 are left out: a configuration file could not refer to them.
fn environment() -> EnvironmentVariables {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    env::vars_os().filter_map(text).collect()
}

fn folder(path: &Path, flag: &str) -> Result<PathBuf, Failure> {
    path.canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(|| {
        let message = format!("`{flag}` names no folder: {}", path.display());
        Failure::usage(message, "give a folder that exists")
    })
}

fn no_home() -> Failure {
    Failure::usage("no home folder is known", "set `HOME` to an absolute path")
}

pub(crate) fn platform() -> Platform {
    match env::consts::OS {
        "macos" => Platform::Mac,
        "windows" => Platform::Windows,
        _ => Platform::Linux,
    }
}

/// Seconds since 1970; zero if the clock is set before that.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}
