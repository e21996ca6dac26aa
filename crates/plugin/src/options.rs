//! How plugins are run.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use switchboard_core::logs::ServerLogs;
use switchboard_process::ProcessGuard;

use crate::worker::WorkerLimits;

/// How plugins are run.
#[derive(Debug, Clone)]
pub struct PluginHostOptions {
    /// The program that becomes a worker: one that calls [`crate::worker::run_if_worker`] first in its `main`.
    pub program: PathBuf,
    /// What sees to it that no worker outlives us.
    pub guard: ProcessGuard,
    /// A worker's whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// How every plugin is run that has no terms of its own.
    pub terms: PluginRunOptions,
    /// The terms of single plugins, by [name](crate::plugin_name).
    pub own: BTreeMap<String, PluginRunOptions>,
    /// How long is waited.
    pub times: PluginTimeouts,
    /// Where private copies of plugins are kept while they are in use.
    pub copies: PathBuf,
    /// Where all goes that plugins write to standard error; its last lines are kept for problems in any case.
    pub logs: Option<ServerLogs>,
    /// What the server is called.
    pub name: String,
}

/// How one plugin is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginRunOptions {
    /// What a worker may use.
    pub limits: WorkerLimits,
    /// Workers of a plugin that answers one call at a time (1). More than one only where its owner knows that it keeps
    /// nothing from one call to the next.
    pub pool: usize,
    /// How long a sign of life of a call is waited for: a notification or the answer (5 min).
    pub call: Duration,
}

/// How long is waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginTimeouts {
    /// For a plugin to be loaded and say what it offers (10 s).
    pub start: Duration,
    /// For the answer to a question of a plugin's (10 min).
    pub question: Duration,
    /// For writing to a file to be over (200 ms).
    pub quiet: Duration,
    /// Before the second start of a plugin that ended before it answered anything (100 ms); doubled each time.
    pub rest: Duration,
    /// The longest such rest (30 s).
    pub longest_rest: Duration,
}

// === impl Options ===

impl PluginHostOptions {
    /// Workers of `program`, with nothing in their environment.
    pub fn new(program: PathBuf, guard: ProcessGuard) -> Self {
        Self {
            program,
            guard,
            env: Vec::new(),
            terms: PluginRunOptions::default(),
            own: BTreeMap::new(),
            times: PluginTimeouts::default(),
            copies: std::env::temp_dir(),
            logs: None,
            name: "plugins".into(),
        }
    }

    /// How the plugin of this name is run.
    pub(crate) fn run_options_of(&self, name: &str) -> PluginRunOptions {
        self.own.get(name).copied().unwrap_or(self.terms)
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
