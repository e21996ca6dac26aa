//! The faults of plugins: why a plugin does not answer, and the problems shown for it.
//!
//! Used by every module of this crate and, as [`PluginProblem`], by `cli::plugins` and `switchboard plugin`.

use std::{path::PathBuf, time::Duration};

use serde_json::json;
use switchboard_process::ProcessExit;
use switchboard_wire::{
    envelope::{RpcError, code},
    sanitize,
};

use crate::flood::{BYTES_PER_SECOND, MESSAGES_PER_SECOND};
use crate::server::to_raw;

/// Why a plugin does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PluginFault {
    /// The plugin's file cannot be read or copied.
    #[error("cannot read it: {0}")]
    File(String),
    /// No worker process can be started.
    #[error("cannot start a worker: {0}")]
    Spawn(String),
    /// The worker could not load the plugin, or the plugin failed to initialize.
    #[error("{why}")]
    Refused {
        /// The worker's stage, in one word: `load`, `create`, `initialize`, `list`.
        stage: String,
        /// The cause.
        why: String,
    },
    /// The worker process ended.
    #[error("its worker ended: {exit}{}", stderr_tail(stderr))]
    Ended {
        /// How the process ended.
        exit: ProcessExit,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// The plugin was not ready within the timeout.
    #[error("it was not ready within {} s", .0.as_secs())]
    Slow(Duration),
    /// The plugin did not answer within the timeout.
    #[error("it did not answer within {} ms", .0.as_millis())]
    Hung(Duration),
    /// The plugin exceeded the limits of `flood`.
    #[error(
        "it was stopped because it flooded: more than {MESSAGES_PER_SECOND} notifications or {} MiB of output a second",
        BYTES_PER_SECOND >> 20
    )]
    Flooded,
    /// The plugin's workers ended too often, and the next start is delayed.
    #[error("it is started again in {} ms; before that {before}", left.as_millis())]
    Resting {
        /// The remaining delay.
        left: Duration,
        /// The fault that ended the last worker.
        before: Box<PluginFault>,
    },
    /// The plugin has reached its limit of concurrent calls.
    #[error("it has too many calls at once; try again")]
    Busy,
    /// Four newer versions were loaded since the call began.
    #[error("the version that the call began on is too old to be kept")]
    Superseded,
    /// The client cancelled the running call, and the plugin cannot stop in the middle of a call.
    #[error("it was started again because the call that it was busy with was cancelled")]
    Cancelled,
    /// The plugin's file was removed, or the server was shut down.
    #[error("it was removed")]
    Removed,
}

/// A problem with one plugin, shown beside the plugins that work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginProblem {
    /// The plugin's name, or its file's name.
    pub plugin: String,
    /// The plugin's file; a built-in plugin has none.
    pub file: Option<PathBuf>,
    /// The problem, safe to show.
    pub what: String,
}

fn stderr_tail(stderr: &str) -> String {
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty());
    line.map(|line| format!(": {}", sanitize::sanitize_line(line))).unwrap_or_default()
}

// === impl PluginFault ===

impl PluginFault {
    /// Whether the plugin itself is at fault. A worker that ended for another reason is replaced at once, and
    /// no problem is shown.
    pub(crate) fn is_of_plugin(&self) -> bool {
        !matches!(self, Self::Cancelled)
    }

    /// The error that an affected call returns.
    pub(crate) fn to_rpc(&self, plugin: &str) -> RpcError {
        let text = format!("plugin `{plugin}`: {self}");
        let error =
            RpcError::new(code::INTERNAL_ERROR, sanitize::sanitize_line(&text).into_owned());
        if self.may_follow_execution() {
            error.with_data(to_raw(&json!({ "remedy": "unknown" })))
        } else {
            error
        }
    }

    /// Whether the plugin may have executed the call before this fault.
    fn may_follow_execution(&self) -> bool {
        match self {
            Self::Ended { .. }
            | Self::Hung(_)
            | Self::Flooded
            | Self::Superseded
            | Self::Cancelled => true,
            Self::File(_)
            | Self::Spawn(_)
            | Self::Refused { .. }
            | Self::Slow(_)
            | Self::Resting { .. }
            | Self::Busy
            | Self::Removed => false,
        }
    }
}
