//! Native plugins of this program and of its user, and the options of their host.
//!
//! Used by `commands::plugin`, `commands::builtin`, `command_engine` and `served_workspace`. No plugin of the user is
//! loaded without the entry that policy admitted. It does not load shared objects (`plugin` does, in workers).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use switchboard_config::{
    AdmittedEntry, BUILTIN_SERVER, Desired, HostContext, PLUGINS_SERVER, PluginSettings,
    PluginTerms, baseline_environment, native_plugin_paths,
};
use switchboard_core::engine::InProcessServer;
use switchboard_core::logs::ServerLogs;
use switchboard_hub::ProgramPlugins;
use switchboard_plugin::worker::{BuiltinPlugin, BuiltinPlugins, WorkerLimits, WorkerSandbox};
use switchboard_plugin::{
    PluginHostOptions, PluginProblem, PluginRunOptions, PluginServer, PluginSources,
};
use switchboard_plugin_bacio_quote as bacio_quote;
use switchboard_plugin_code_review as code_review;
use switchboard_plugin_hello as hello;
use switchboard_plugin_notification as notification;
use switchboard_plugin_sleep as sleep;
use switchboard_plugin_weather as weather;
use switchboard_process::ProcessGuard;
use switchboard_sources::PluginHost;

use crate::report::Failure;
use crate::surroundings;

/// Variables that the built-in plugins read.
const OUR_PLUGIN_VARIABLES: [&str; 3] =
    ["SWITCHBOARD_WEATHER_URL", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The built-in plugins.
pub(crate) const BUILTINS: BuiltinPlugins = &[
    BuiltinPlugin { name: "hello", table: hello::entry, plugin: hello::plugin },
    BuiltinPlugin { name: "sleep", table: sleep::entry, plugin: sleep::plugin },
    BuiltinPlugin {
        name: "notification",
        table: notification::entry,
        plugin: notification::plugin,
    },
    BuiltinPlugin { name: "weather", table: weather::entry, plugin: weather::plugin },
    BuiltinPlugin { name: "code-review", table: code_review::entry, plugin: code_review::plugin },
    BuiltinPlugin { name: "bacio-quote", table: bacio_quote::entry, plugin: bacio_quote::plugin },
];

/// The options of a plugin host with this name.
pub(crate) fn options(name: &str) -> Result<PluginHostOptions, Failure> {
    let cannot = |error| Failure::new("cannot open this program to run plugins with it", error);
    let guard = ProcessGuard::this_program().map_err(cannot)?;
    let variables = surroundings::variables();
    let given =
        variables.iter().filter(|(name, _)| OUR_PLUGIN_VARIABLES.iter().any(|ours| name == ours));
    let given: Vec<_> = given.cloned().collect();
    let mut options = PluginHostOptions::new(program()?, guard);
    options.env = baseline_environment(variables.into_iter());
    options.env.extend(given);
    name.clone_into(&mut options.name);
    Ok(options)
}

/// The program file for workers. `/proc/self/exe` stays this version even if the file is upgraded.
fn program() -> Result<PathBuf, Failure> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    let nowhere = || std::io::Error::from(std::io::ErrorKind::NotFound);
    surroundings::program()
        .ok_or_else(|| Failure::new("cannot find this program on disk", nowhere()))
}

/// The host of the built-in plugins, one for the whole process.
pub(crate) fn of_program() -> Result<Arc<PluginServer>, Failure> {
    static HOST: OnceLock<Arc<PluginServer>> = OnceLock::new();
    if let Some(host) = HOST.get() {
        return Ok(Arc::clone(host));
    }
    let host = Arc::new(PluginServer::builtin_only(options("switchboard-builtin")?, BUILTINS));
    Ok(Arc::clone(HOST.get_or_init(|| host)))
}

/// The built-in plugins as a server for the engine.
pub(crate) fn builtin() -> Result<InProcessServer, Failure> {
    let plugins = of_program()?;
    let changes = plugins.changes();
    Ok(InProcessServer::new(BUILTIN_SERVER, plugins, changes))
}

/// The existing folders of a user's plugins: the default one, and those in settings.
pub(crate) fn folders(desired: &Desired, surroundings: &HostContext) -> Vec<PathBuf> {
    let paths = native_plugin_paths(&desired.settings, surroundings);
    paths.into_iter().filter(|path| path.exists()).collect()
}

/// The user's plugins as a server for the engine; `None` if there are none, or policy forbids them.
pub(crate) async fn configured_server(
    desired: &Desired,
    surroundings: &HostContext,
) -> Result<Option<InProcessServer>, Failure> {
    let Some(admitted) = desired.native_plugins() else { return Ok(None) };
    let folders = folders(desired, surroundings);
    let plugins = shared_server(admitted, folders, &desired.settings.plugins, surroundings).await?;
    let changes = plugins.changes();
    // Weak, so that an old desired state does not keep plugins alive that policy has ended.
    let host = Arc::downgrade(&plugins);
    let problems = move || {
        let problems = host.upgrade().map(|host| host.problems()).unwrap_or_default();
        problems.iter().map(problem_text).collect()
    };
    Ok(Some(InProcessServer::new(PLUGINS_SERVER, plugins, changes).with_problems(problems)))
}

/// A problem of one plugin, as a sentence.
fn problem_text(problem: &PluginProblem) -> String {
    match &problem.file {
        Some(file) => {
            format!("plugin `{}` ({}): {}", problem.plugin, file.display(), problem.what)
        }
        None => format!("plugin `{}`: {}", problem.plugin, problem.what),
    }
}

/// The built-in server and the native plugins, for workspaces that are served.
pub(crate) fn program_plugins() -> Result<ProgramPlugins, Failure> {
    Ok(ProgramPlugins { builtin: builtin()?, host: Arc::new(WorkspacePluginHost) })
}

/// Runs the plugins of every workspace of a hub.
struct WorkspacePluginHost;

impl PluginHost for WorkspacePluginHost {
    fn serve<'a>(
        &'a self,
        desired: &'a Desired,
        surroundings: &'a HostContext,
    ) -> BoxFuture<'a, Result<Option<InProcessServer>, String>> {
        Box::pin(async move {
            let plugins = configured_server(desired, surroundings).await;
            plugins.map_err(|failure| failure.in_one_line())
        })
    }
}

/// The plugin host of these folders and settings, which workspaces share.
async fn shared_server(
    admitted: &AdmittedEntry,
    folders: Vec<PathBuf>,
    settings: &PluginSettings,
    surroundings: &HostContext,
) -> Result<Arc<PluginServer>, Failure> {
    type HostKey = (Vec<PathBuf>, PluginSettings);
    static HOSTS: Mutex<BTreeMap<HostKey, Weak<PluginServer>>> = Mutex::new(BTreeMap::new());
    let hosts = || HOSTS.lock();
    let key = (folders, settings.clone());
    if let Some(host) = hosts().get(&key).and_then(Weak::upgrade) {
        return Ok(host);
    }
    let sources = PluginSources { builtins: &[], folders: key.0.clone() };
    let host = Arc::new(
        PluginServer::start(host_options(admitted, settings, surroundings)?, sources).await,
    );
    hosts().insert(key, Arc::downgrade(&host));
    Ok(host)
}

/// The options of the host of a user's plugins, which policy has admitted.
pub(crate) fn host_options(
    _admitted: &AdmittedEntry,
    settings: &PluginSettings,
    surroundings: &HostContext,
) -> Result<PluginHostOptions, Failure> {
    let state = &surroundings.state_dir;
    let mut options = options(PLUGINS_SERVER)?;
    options.terms = run_options(&settings.all);
    let own = settings.each.iter().map(|(name, own)| (name.clone(), run_options(own)));
    options.by_plugin = own.collect();
    options.copies = state.join("plugins");
    // Without a log file the host still keeps the last lines in memory.
    options.logs = ServerLogs::open(state.join("logs")).ok();
    Ok(options)
}

/// The options of one plugin from settings; missing ones keep the host's defaults.
fn run_options(said: &PluginTerms) -> PluginRunOptions {
    let usual = PluginRunOptions::default();
    let sandbox =
        if said.sandbox == Some(true) { WorkerSandbox::Closed } else { WorkerSandbox::Open };
    PluginRunOptions {
        limits: WorkerLimits {
            memory: said.memory_bytes.unwrap_or(usual.limits.memory),
            files: said.open_files.unwrap_or(usual.limits.files),
            sandbox,
        },
        pool: said.pool.and_then(|pool| pool.try_into().ok()).unwrap_or(usual.pool),
        call: said.deadline_ms.map_or(usual.call, Duration::from_millis),
    }
}
