//! The only place that asks this process for its environment, directory, user and clock.

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

/// How long a person waits for the organisation's catalogue before its last copy is used.
const CATALOGUE_DEADLINE: Duration = Duration::from_secs(10);

/// Whoever typed the command: where they are, what they have set, what they asked for.
pub(crate) struct Caller {
    pub(crate) surroundings: HostContext,
    pub(crate) workspace: ConfigWorkspace,
    asked: ResolveOptions,
    /// Whether nothing is to be shared with the hub.
    standalone: bool,
    /// What the servers of the organisation's catalogue are reached with.
    pub(crate) catalogue: Option<Arc<switchboard_sources::ConnectorCredentials>>,
    /// What went wrong before the command began.
    pub(crate) notices: Vec<Notice>,
    /// Everything in the environment, whatever bytes it is made of.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// Names the bus on which a Linux desktop has its keychain.
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

    /// The same with the organisation's catalogue as it is now, or its last copy and why.
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

    /// Whether everything happens in this process: that was asked for, or what counts is given for this run alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.standalone || self.asked.strict || !self.asked.dynamic.is_empty()
    }

    /// What was asked for besides the surroundings.
    pub(crate) fn asked(&self) -> &ResolveOptions {
        &self.asked
    }

    /// What files desire, and the editor in which the project is open; what is wrong with the files of editors.
    pub(crate) fn desired(&self) -> (Desired, Vec<Notice>) {
        let mut desired = self.workspace.desired();
        let problems = ide::add_editor(&mut desired, &self.surroundings, &self.asked);
        (desired, problems.iter().map(Notice::from).collect())
    }

    /// Where sign-ins are kept.
    pub(crate) fn sign_ins(&self) -> Arc<FileSignInStore> {
        let keychain: Arc<dyn Keychain> = match (platform(), self.variable(SESSION_BUS)) {
            // Without a session there is no keychain, and to look for one would start a bus.
            (Platform::Linux, None) => Arc::new(NoKeychain),
            _ => Arc::new(SystemKeychain),
        };
        Arc::new(FileSignInStore::new(self.surroundings.state_dir.join("sign-ins"), keychain))
    }

    /// The value of a variable that says something.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.surroundings.env.get(name)?;
        (!value.trim().is_empty()).then_some(value)
    }
}

/// Whether one of our own servers started this program, however many scripts lie in between.
pub(crate) fn is_beneath_us() -> bool {
    env::var_os(switchboard_core::connection::PARENT_MARKER_VARIABLE).is_some()
}

/// Everything in the environment.
pub(crate) fn variables() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// Whether colours are not wanted, or the terminal has none.
pub(crate) fn is_colourless() -> bool {
    let says = |name| env::var_os(name).filter(|value| !value.is_empty());
    says("NO_COLOR").is_some() || says("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// This program's own file.
pub(crate) fn program() -> Option<PathBuf> {
    env::current_exe().ok()
}

/// The programs that open a link, the first that can be started first.
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

/// How paths are shortened for people.
pub(crate) fn places() -> PathDisplay {
    PathDisplay::new(env::current_dir().ok(), env::home_dir())
}

/// What is not UTF-8 cannot be referred to in a file, which is.
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

/// A clock before 1970 is as good as none.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}
