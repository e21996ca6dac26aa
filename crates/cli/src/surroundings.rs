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
    ConfigWorkspace, Desired, DynamicConfig, EnvironmentVariables, HostContext, LimitSettings,
    Platform, ResolveOptions, read_limits,
};
use switchboard_core::ide;

use switchboard_auth::{
    FileSignInStore, HostSecrets, Keychain, NoKeychain, SecretStore, SystemKeychain,
};
use switchboard_hub::{ProgramContext, SignInLinkTable, process_guard};
use switchboard_sources::{
    ResolvedConfig, SourceProblem, SourcesOptions, resolve_with_cached_catalog,
    resolve_with_fetched_catalog,
};

use crate::args::Global;
use crate::notice::Notice;
use crate::path_display::PathDisplay;
use crate::report::Failure;
use crate::version::VERSION;

/// How long a command waits for the connector catalog before it uses the cached copy.
const CATALOGUE_DEADLINE: Duration = Duration::from_secs(10);

/// The person who typed the command: folder, environment and global flags.
pub(crate) struct Caller {
    pub(crate) surroundings: HostContext,
    pub(crate) workspace: ConfigWorkspace,
    asked: ResolveOptions,
    /// The desired state of the files when the command began.
    pub(crate) first_desired: Box<Desired>,
    /// Whether the command must not use the hub (`--standalone`).
    is_alone: bool,
    /// The credentials of servers of the connector catalog.
    pub(crate) catalogue: Option<Arc<switchboard_sources::ConnectorCredentials>>,
    /// The links by which people of other machines sign in to servers.
    pub(crate) sign_in_links: SignInLinkTable,
    /// Problems from before the command began.
    pub(crate) notices: Vec<Notice>,
    /// The whole environment, also variables that are not UTF-8.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// The variable with the D-Bus address under which a Linux desktop has its keychain.
const SESSION_BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

impl Caller {
    /// With the last copy of the organisation's catalog.
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let (surroundings, asked) = inputs(global)?;
        let config = resolve_with_cached_catalog(&surroundings, &asked);
        Ok(Self::from_config(global, surroundings, config))
    }

    /// Fetches the organisation's connector catalog, or uses the cached copy with a notice why.
    pub(crate) async fn with_catalogue(global: &Global) -> Result<Self, Failure> {
        let (surroundings, asked) = inputs(global)?;
        let mut options = SourcesOptions::new(process_guard()?);
        options.timing.fetch = CATALOGUE_DEADLINE;
        let fetched = resolve_with_fetched_catalog(&surroundings, &asked, &options).await;
        let mut caller = Self::from_config(global, surroundings, fetched.config);
        caller.catalogue = fetched.credentials;
        let notice = |problem: SourceProblem| {
            Notice::warning(problem.to_string()).with_location(problem.location())
        };
        caller.notices.extend(fetched.problem.map(notice));
        Ok(caller)
    }

    fn from_config(global: &Global, surroundings: HostContext, config: ResolvedConfig) -> Self {
        let ResolvedConfig { desired, options } = config;
        Self {
            workspace: ConfigWorkspace::new(surroundings.clone(), options.clone()),
            surroundings,
            asked: options,
            first_desired: desired,
            is_alone: global.is_alone(),
            catalogue: None,
            sign_in_links: SignInLinkTable::default(),
            notices: Vec::new(),
            variables: variables(),
        }
    }

    /// Whether everything happens in this process.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// The options of the command line that configuration depends on.
    pub(crate) fn resolve_options(&self) -> &ResolveOptions {
        &self.asked
    }

    /// The desired state of the files now, with the editor in which the project is open, and the problems of editors'
    /// files.
    pub(crate) fn desired(&self) -> (Desired, Vec<Notice>) {
        self.with_editor(self.workspace.desired())
    }

    /// The desired state when the command began, with the editor and the problems of editors' files.
    pub(crate) fn desired_at_start(&self) -> (Desired, Vec<Notice>) {
        self.with_editor((*self.first_desired).clone())
    }

    fn with_editor(&self, mut desired: Desired) -> (Desired, Vec<Notice>) {
        let problems = ide::add_editor(&mut desired, &self.surroundings, &self.asked);
        (desired, problems.iter().map(Notice::from).collect())
    }

    /// The store of sign-ins.
    pub(crate) fn sign_ins(&self) -> Arc<FileSignInStore> {
        let keychain = keychain(&self.surroundings);
        Arc::new(FileSignInStore::new(sign_ins_folder(&self.surroundings), keychain))
    }

    /// The store of secrets.
    pub(crate) fn secret_store(&self) -> SecretStore {
        secret_store(&self.surroundings)
    }

    /// The command's folders, configuration, variables and credentials, for an engine or a hub.
    pub(crate) fn program_context(&self) -> ProgramContext {
        ProgramContext {
            host: self.surroundings.clone(),
            resolve: self.asked.clone(),
            variables: self.variables.clone(),
            connector_credentials: self.catalogue.clone(),
            sign_ins: self.sign_ins(),
            sign_in_links: self.sign_in_links.clone(),
            program: program(),
            version: VERSION,
            replicas: None,
        }
    }

    /// The name of this machine.
    pub(crate) fn machine_name(&self) -> String {
        let of_system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let name = of_system.or_else(|| self.variable("HOSTNAME").map(str::to_owned));
        let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        name.unwrap_or_else(|| "unnamed".to_owned())
    }

    /// The value of a variable, if it is not blank.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        variable(&self.surroundings, name)
    }
}

fn variable<'a>(surroundings: &'a HostContext, name: &str) -> Option<&'a str> {
    let value = surroundings.env.get(name)?;
    (!value.trim().is_empty()).then_some(value)
}

fn keychain(surroundings: &HostContext) -> Arc<dyn Keychain> {
    match (Platform::current(), variable(surroundings, SESSION_BUS)) {
        // Without a session bus there is no keychain, and looking for one would start a bus.
        (Platform::Linux, None) => Arc::new(NoKeychain),
        _ => Arc::new(SystemKeychain),
    }
}

fn sign_ins_folder(surroundings: &HostContext) -> PathBuf {
    surroundings.state_dir.join("sign-ins")
}

fn secret_store(surroundings: &HostContext) -> SecretStore {
    let sign_ins = sign_ins_folder(surroundings);
    SecretStore::new(&surroundings.state_dir, &sign_ins, keychain(surroundings))
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

/// The current folder, if it exists.
pub(crate) fn current_folder() -> Option<PathBuf> {
    env::current_dir().ok()
}

/// The words of the command line.
pub(crate) fn command_line_words() -> Vec<OsString> {
    env::args_os().collect()
}

/// The folders that paths are shown relative to.
pub(crate) fn places() -> PathDisplay {
    PathDisplay::new(current_folder(), env::home_dir())
}

/// Returns the folder and environment of the command, and the configuration that its flags ask for.
fn inputs(global: &Global) -> Result<(HostContext, ResolveOptions), Failure> {
    let cwd = env::current_dir()
        .map_err(|error| Failure::new("cannot find the current folder", error))?;
    let project = match &global.project {
        Some(project) => folder(&cwd.join(project), "--project")?,
        None => cwd.clone(),
    };
    let mut surroundings = HostContext::for_platform(Platform::current(), environment(), project)
        .ok_or_else(no_home)?;
    if let Some(config_dir) = &global.config_dir {
        surroundings.config_dir = cwd.join(config_dir);
    }
    surroundings.owner = Some(nix::unistd::geteuid().as_raw());
    surroundings.now = now();
    surroundings.secrets = Arc::new(HostSecrets::new(
        secret_store(&surroundings),
        variables(),
        surroundings.home.clone(),
        process_guard()?,
    ));
    let dynamic = global.mcp_config.iter();
    let asked = ResolveOptions {
        dynamic: dynamic.map(|argument| DynamicConfig::from_argument(argument, &cwd)).collect(),
        strict: global.strict_mcp_config,
        ..ResolveOptions::default()
    };
    Ok((surroundings, asked))
}

/// The limits of the user's and the administrator's settings, for decisions before there is a runtime; `None` where
/// the command is about to fail.
pub(crate) fn owned_limits(global: &Global) -> Option<LimitSettings> {
    inputs(global).ok().map(|(surroundings, _)| read_limits(&surroundings))
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

/// Seconds since 1970; zero if the clock is set before that.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}
