//! What can be wrong with a plugin.

use std::{path::PathBuf, time::Duration};

use serde_json::json;
use switchboard_process::ProcessExit;
use switchboard_wire::{
    envelope::{RpcError, code},
    json::Raw,
    sanitize,
};

use crate::flood::{BYTES_PER_SECOND, MESSAGES_PER_SECOND};

/// Why a plugin does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PluginFault {
    /// Its file cannot be read or copied.
    #[error("cannot read it: {0}")]
    File(String),
    /// No worker can be started for it.
    #[error("cannot start a worker: {0}")]
    Spawn(String),
    /// The worker could not load it, or it refused to begin.
    #[error("{why}")]
    Refused {
        /// What the worker was doing, in one word: `load`, `create`, `initialize`, `list`.
        stage: String,
        /// What went wrong.
        why: String,
    },
    /// It took its worker along.
    #[error("its worker ended: {exit}{}", stderr_tail(stderr))]
    Ended {
        /// How.
        exit: ProcessExit,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// It did not get ready in time.
    #[error("it was not ready within {} s", .0.as_secs())]
    Slow(Duration),
    /// It did not answer in time.
    #[error("it did not answer within {} ms", .0.as_millis())]
    Hung(Duration),
    /// It sent more than a host can be asked to read.
    #[error(
        "it was stopped because it flooded: more than {MESSAGES_PER_SECOND} notifications or {} MiB of output a second",
        BYTES_PER_SECOND >> 20
    )]
    Flooded,
    /// It has ended too often, and is given a rest.
    #[error("it is started again in {} ms; before that {before}", left.as_millis())]
    Resting {
        /// How long still.
        left: Duration,
        /// What happened to it.
        before: Box<PluginFault>,
    },
    /// It has as many calls as it may have at once.
    #[error("it has too many calls at once; try again")]
    Busy,
    /// Four newer versions have come since the call began.
    #[error("the version that the call began on is too old to be kept")]
    Superseded,
    /// The client cancelled the call that it was busy with, and it cannot stop in the middle of one.
    #[error("it was started again because the call that it was busy with was cancelled")]
    Cancelled,
    /// Nothing is left of it.
    #[error("it was removed")]
    Removed,
}

/// Something is wrong with a plugin, beside those that work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginProblem {
    /// The plugin's name, or what its file is called.
    pub plugin: String,
    /// Its file; a plugin that is part of the program has none.
    pub file: Option<PathBuf>,
    /// What is wrong, safe to show.
    pub what: String,
}

fn stderr_tail(stderr: &str) -> String {
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty());
    line.map(|line| format!(": {}", sanitize::sanitize_line(line))).unwrap_or_default()
}

// === impl Fault ===

impl PluginFault {
    /// Whether the plugin itself did something wrong. A worker that ended for another reason is replaced at once, and
    /// its end is no problem to show.
    pub(crate) fn is_of_plugin(&self) -> bool {
        !matches!(self, Self::Cancelled)
    }

    /// The error that a call concerned comes to.
    pub(crate) fn to_rpc(&self, plugin: &str) -> RpcError {
        let text = format!("plugin `{plugin}`: {self}");
        let error =
            RpcError::new(code::INTERNAL_ERROR, sanitize::sanitize_line(&text).into_owned());
        if self.may_follow_execution() {
            error.with_data(Raw::from(&json!({ "remedy": "unknown" })))
        } else {
            error
        }
    }

    /// Whether the plugin had the call when this happened, so that it may have carried it out.
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
