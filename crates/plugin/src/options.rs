//! The options of the plugin host: worker program, limits, timeouts and folders.
//!
//! Used by `cli::plugins`. They are not the user's settings, from which `cli::plugins` builds them.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use switchboard_core::logs::ServerLogs;
use switchboard_process::ProcessGuard;

use crate::worker::WorkerLimits;

/// How plugins are run.
#[derive(Debug, Clone)]
pub struct PluginHostOptions {
    /// The worker program: one that calls [`crate::worker::run_if_worker`] first in its `main`.
    pub program: PathBuf,
    /// The guard that ends workers when this process ends.
    pub guard: ProcessGuard,
    /// The whole environment of a worker.
    pub env: Vec<(OsString, OsString)>,
    /// The run options of plugins without their own.
    pub terms: PluginRunOptions,
    /// The run options of single plugins, by [name](crate::plugin_name).
    pub by_plugin: BTreeMap<String, PluginRunOptions>,
    /// The timeouts.
    pub times: PluginTimeouts,
    /// The folder for private copies of plugins in use.
    pub copies: PathBuf,
    /// The log of the plugins' standard error; its last lines are kept for problems in any case.
    pub logs: Option<ServerLogs>,
    /// The server's name.
    pub name: String,
}

/// How one plugin is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginRunOptions {
    /// The limits of a worker.
    pub limits: WorkerLimits,
    /// The number of workers for a plugin that is not thread-safe (1). More than one only if its owner knows
    /// that it keeps no state between calls.
    pub pool: usize,
    /// The timeout of a call, counted from the last notification (5 min).
    pub call: Duration,
}

/// The timeouts of the plugin host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginTimeouts {
    /// For a plugin to be loaded and describe itself (10 s).
    pub start: Duration,
    /// For the answer to a plugin's question (10 min).
    pub question: Duration,
    /// The quiet after which a file counts as written (200 ms).
    pub quiet: Duration,
    /// Before the second start of a plugin that ended without any answer (100 ms); doubled each time.
    pub rest: Duration,
    /// The longest delay before a start (30 s).
    pub longest_rest: Duration,
}

// === impl PluginHostOptions ===

impl PluginHostOptions {
    /// The default options, with workers of `program` and an empty environment.
    pub fn new(program: PathBuf, guard: ProcessGuard) -> Self {
        Self {
            program,
            guard,
            env: Vec::new(),
            terms: PluginRunOptions::default(),
            by_plugin: BTreeMap::new(),
            times: PluginTimeouts::default(),
            copies: std::env::temp_dir(),
            logs: None,
            name: "plugins".into(),
        }
    }

    /// The run options of the plugin with this name.
    pub(crate) fn run_options_of(&self, name: &str) -> PluginRunOptions {
        self.by_plugin.get(name).copied().unwrap_or(self.terms)
    }
}

// === impl PluginRunOptions ===

impl Default for PluginRunOptions {
    fn default() -> Self {
        Self { limits: WorkerLimits::default(), pool: 1, call: Duration::from_secs(5 * 60) }
    }
}

// === impl PluginTimeouts ===

impl Default for PluginTimeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(10),
            question: Duration::from_secs(10 * 60),
            quiet: Duration::from_millis(200),
            rest: Duration::from_millis(100),
            longest_rest: Duration::from_secs(30),
        }
    }
}
