//! The caller's environment as a command gets it: `PATH` without the folders that the command must not look in.
//!
//! The engine uses it for servers and their helpers, the runner of hooks for hooks and classifiers. Which folders those are
//! is decided by [`SearchPath`].

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use switchboard_config::SearchPath;

/// Variables with their values. Where a name comes twice, the last one counts.
pub(crate) type Variables = [(OsString, OsString)];

/// The environment of a command that starts in `start_folder`, called from `project`. Shared where nothing changes.
pub(crate) fn for_command(
    environment: &Arc<Variables>,
    start_folder: &Path,
    project: &Path,
) -> Arc<Variables> {
    match narrowed_path(environment, start_folder, project) {
        Some(path) => environment.iter().cloned().chain([path]).collect(),
        None => environment.clone(),
    }
}

/// The variable that replaces `PATH`, if any of its folders are left out.
pub(crate) fn narrowed_path(
    environment: &Variables,
    start_folder: &Path,
    project: &Path,
) -> Option<(OsString, OsString)> {
    let (name, path) = environment.iter().rev().find(|(name, _)| name == "PATH")?;
    Some((name.clone(), SearchPath::new(path, start_folder, project).narrowed()?))
}
