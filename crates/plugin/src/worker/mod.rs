//! The other side: our own binary again, which loads one plugin and answers for it.
//!
//! A plugin is foreign code. It may crash, hang, leak, print, throw, so it is never loaded into the hub. A worker gives
//! up what it does not need, loads its plugin, says what the plugin offers, and then answers requests, one on each line
//! of its standard input, until that ends. It holds no tokio and knows no client.
//!
//! `unsafe` is in `v1`, `v2` and `library`, which speak with the plugin through pointers.

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

use crate::messages::{WorkerFailed, WorkerReady, said};
use channel::HostChannel;
use serving::PluginService;
pub(crate) use thread_pool::MAX_THREADS;

/// The word that makes our binary a worker.
pub const WORKER_COMMAND: &str = "plugin-worker";

/// Plugins that are part of the program.
pub type BuiltinPlugins = &'static [BuiltinPlugin];

/// A plugin that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct BuiltinPlugin {
    /// Its name.
    pub name: &'static str,
    /// The table a worker reads.
    pub table: fn() -> &'static abi::v2::Plugin,
    /// What it offers, for a host that need not start a worker to know.
    pub plugin: fn() -> switchboard_plugin_sdk::Plugin,
}

/// What a worker is told when it is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerOrder {
    /// What to load.
    pub load: PluginImage,
    /// What it may use.
    pub limits: WorkerLimits,
}

/// What to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginImage {
    /// A shared object that nobody will write to.
    File(PathBuf),
    /// A plugin that is part of the program.
    Builtin(String),
}

/// What a worker may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerLimits {
    /// Bytes of memory it may write to (1 GiB).
    pub memory: u64,
    /// Descriptors it may hold (256).
    pub files: u64,
    /// What it may reach (everything that its user may).
    pub sandbox: WorkerSandbox,
}

/// What a worker may reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerSandbox {
    /// What its user may.
    #[default]
    Open,
    /// What a program needs to run, read only, and the network. It starts nothing, changes no file, and reaches no other
    /// process of this machine but through the network.
    Closed,
}

/// A plugin that answers.
trait LoadedPlugin: Send + Sync {
    /// What it is and offers.
    fn ready(&self) -> Result<WorkerReady, WorkerFailed>;

    /// Answers a request. `None`: it was cancelled, and nobody waits.
    fn answer(&self, call: &channel::HostCall, request: &Request) -> Option<Result<Raw, RpcError>>;

    /// Somebody wants to hear of a resource, or nobody does any more.
    fn subscribe(&self, uri: &str, on: bool);

    /// Ends it.
    fn end(&self);
}

/// Becomes a worker and never returns, if that is what this process was started as.
pub fn run_if_worker(builtins: BuiltinPlugins) {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == WORKER_COMMAND) {
        let code = run(words.next(), builtins);
        // No destructor of a plugin's is worth waiting for.
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
}

fn run(order: Option<OsString>, builtins: BuiltinPlugins) -> ExitCode {
    // Without a channel nobody is there to be told.
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
            channel.send(&said(said::FAILED, &failed.to_json()));
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
    /// What it is called where its own name is not known yet.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Builtin(name) => name.clone(),
            Self::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}

// === impl Limits ===

impl Default for WorkerLimits {
    fn default() -> Self {
        Self { memory: 1 << 30, files: 256, sandbox: WorkerSandbox::Open }
    }
}
