//! The environment of server processes: the caller's environment, with a `PATH` that leaves out folders of the
//! project.
//!
//! Used by `engine::supervisor::apply`. Which folders stay is decided by [`restricted_path`].

use std::path::Path;

use switchboard_config::restricted_path;

use crate::engine::ProcessEnvironment;

/// Returns the environment of a command that starts in `start_folder`, called from `project`. Shares `environment`
/// where `PATH` stays as it is.
pub(crate) fn for_command(
    environment: &ProcessEnvironment,
    start_folder: &Path,
    project: &Path,
) -> ProcessEnvironment {
    match restricted_path(environment, start_folder, project) {
        Some(path) => environment.iter().cloned().chain([path]).collect(),
        None => environment.clone(),
    }
}
