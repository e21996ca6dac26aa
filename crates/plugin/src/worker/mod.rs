//! The worker process: our own binary again, which loads one plugin and answers for it.
//!
//! Used by `main` through [`run_if_worker`]; started by `launch`. A plugin is foreign code that may crash,
//! hang, leak, print or throw, so it is never loaded into the hub. A worker restricts itself, loads its
//! plugin, describes it, and then answers requests, one on each line of its standard input, until that
//! closes. It has no tokio runtime and knows no client.
//!
//! `unsafe` is in `v1`, `v2` and `library`, which exchange pointers with the plugin.

mod channel;
mod elf;
mod interest;
mod library;
mod limits;
#[cfg(target_os = "linux")]
mod sandbox;
mod serving;
mod thread_pool;
mod v1;
mod v2;

use std::{ffi::OsString, path::PathBuf, process::ExitCode, sync::Arc};

use serde::{Deserialize, Serialize};
use switchboard_plugin_sdk::abi;
use switchboard_wire::{
    envelope::{Request, RpcError},
    json::Raw,
};

use crate::messages::{WorkerFailed, WorkerReady, format_notification, worker_method};
use channel::HostChannel;
use serving::PluginService;
pub(crate) use thread_pool::MAX_THREADS;

/// The argument that makes our binary a worker.
pub const WORKER_COMMAND: &str = "plugin-worker";

/// The built-in plugins.
pub type BuiltinPlugins = &'static [BuiltinPlugin];

/// A plugin that is compiled into the program.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinPlugin {
    /// The plugin's name.
    pub name: &'static str,
    /// The plugin's function table, for a worker.
    pub table: fn() -> &'static abi::v2::Plugin,
    /// The plugin's items, for a host that should not start a worker to list them.
    pub plugin: fn() -> switchboard_plugin_sdk::Plugin,
}

/// The start arguments of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerOrder {
    /// The plugin to load.
    pub load: PluginImage,
    /// The worker's limits.
    pub limits: WorkerLimits,
}

/// The plugin to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginImage {
    /// A shared object, in a copy that is never written to.
    File(PathBuf),
    /// A built-in plugin, by name.
    Builtin(String),
}

/// The limits of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerLimits {
    /// Bytes of memory that it may write to (1 GiB).
    pub memory: u64,
    /// Open descriptors (256).
    pub files: u64,
    /// The sandbox (none).
    pub sandbox: WorkerSandbox,
}

/// The sandbox of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerSandbox {
    /// None: the worker may do all that its user may.
    #[default]
    Open,
    /// Files that a program needs to run, read-only, and the network. The plugin can start no program, change
    /// no file, and reach no other process of this machine except through the network.
    Closed,
}

/// A loaded plugin, of either interface version.
trait LoadedPlugin: Send + Sync {
    /// Describes the plugin and its items.
    fn ready(&self) -> Result<WorkerReady, WorkerFailed>;

    /// Answers a request; `None` if the call was cancelled and needs no answer.
    fn answer(&self, call: &channel::HostCall, request: &Request) -> Option<Result<Raw, RpcError>>;

    /// Tells the plugin that a resource has subscribers, or no longer has any.
    fn subscribe(&self, uri: &str, on: bool);

    /// Shuts the plugin down.
    fn end(&self);
}

/// Runs as a worker and never returns, if this process was started as one.
pub fn run_if_worker(builtins: BuiltinPlugins) {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == WORKER_COMMAND) {
        let code = run(words.next(), builtins);
        // Exits without the plugin's destructors, which may hang.
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
}

fn run(order: Option<OsString>, builtins: BuiltinPlugins) -> ExitCode {
    // Without a channel there is no host to send the error to.
    let Ok((input, output)) = limits::take_over_channel() else { return ExitCode::FAILURE };
    let channel = Arc::new(HostChannel::new(output));
    let order = order.and_then(|order| serde_json::from_str::<WorkerOrder>(order.to_str()?).ok());
    let started = order
        .ok_or_else(|| WorkerFailed::new("order", "the worker was not told what to load"))
        .and_then(|order| start(&order, &channel, builtins));
    let served = match started {
        Ok((plugin, ready)) => PluginService::new(&channel, plugin).serve(input, &ready),
        Err(failed) => Err(failed),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            channel.send(&format_notification(worker_method::FAILED, &failed.to_json()));
            ExitCode::FAILURE
        }
    }
}

fn start(
    order: &WorkerOrder,
    channel: &Arc<HostChannel>,
    builtins: BuiltinPlugins,
) -> Result<(Arc<dyn LoadedPlugin>, WorkerReady), WorkerFailed> {
    let limited = limits::apply(order.limits).and_then(|()| limits::ignore_end_signals());
    limited.map_err(|error| WorkerFailed::new("limits", error.to_string()))?;
    if order.limits.sandbox == WorkerSandbox::Closed {
        enter_sandbox(&order.load).map_err(|why| WorkerFailed::new("sandbox", why))?;
    }
    let plugin = load(&order.load, channel, builtins)?;
    let ready = plugin.ready()?;
    Ok((plugin, ready))
}

#[cfg(target_os = "linux")]
use sandbox::enter as enter_sandbox;

/// Other systems have no sandbox, and a plugin that needs one does not run.
#[cfg(not(target_os = "linux"))]
fn enter_sandbox(_load: &PluginImage) -> Result<(), String> {
    Err("there is a sandbox for plugins on Linux only".into())
}

fn load(
    load: &PluginImage,
    channel: &Arc<HostChannel>,
    builtins: BuiltinPlugins,
) -> Result<Arc<dyn LoadedPlugin>, WorkerFailed> {
    match load {
        PluginImage::Builtin(name) => {
            let found = builtins.iter().find(|known| known.name == name);
            let found = found.ok_or_else(|| {
                WorkerFailed::new(
                    "load",
                    format!("no plugin called `{name}` is part of the program"),
                )
            })?;
            Ok(Arc::new(v2::V2Plugin::of_program((found.table)(), channel)?))
        }
        PluginImage::File(path) => {
            elf::check(path)?;
            let library = library::PluginLibrary::open(path)?;
            match library.version()? {
                library::AbiVersion::One(symbols) => {
                    Ok(Arc::new(v1::V1Plugin::new(symbols, channel)?))
                }
                library::AbiVersion::Two(entry) => {
                    Ok(Arc::new(v2::V2Plugin::of_library(entry, channel)?))
                }
            }
        }
    }
}

// === impl PluginImage ===

impl PluginImage {
    /// A name to show before the plugin's own name is known.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Builtin(name) => name.clone(),
            Self::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}

// === impl WorkerLimits ===

impl Default for WorkerLimits {
    fn default() -> Self {
        Self { memory: 1 << 30, files: 256, sandbox: WorkerSandbox::Open }
    }
}
