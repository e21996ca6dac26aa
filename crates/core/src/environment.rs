//! The caller's environment as a server's process and its helpers get it: `PATH` without the folders that they must not
//! look in. Which folders those are is decided by [`narrowed_path`].

use std::path::Path;

use switchboard_config::restricted_path;

use crate::engine::ProcessEnvironment;

/// The environment of a command that starts in `start_folder`, called from `project`. Shared where nothing changes.
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
