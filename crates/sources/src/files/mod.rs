//! Watching configuration files: their states, the folders to watch for them, and the watcher.
//!
//! Used by `build`. It does not parse files (`switchboard_config`).

mod file_states;
mod plan;
mod watch;

pub(super) use file_states::FileStates;
pub(super) use watch::FileWatch;
