//! The folders of `PATH` in which a bare command is looked up.
//!
//! Used by `resolve::servers`, and by `core`, which gives every process the restricted `PATH`. The caller's
//! `PATH` may name folders of the caller's project, absolute or relative. An entry that was approved for
//! another folder must not find its program there: a cloned repository would choose what runs. A program that
//! looks for others finds none there either. `doctor` shows the skipped folders. This module starts nothing
//! and reads no environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The caller's `PATH`, checked for commands that start in one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    folders: Vec<(PathBuf, Option<FolderSkipReason>)>,
}

/// Why a folder of `PATH` is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FolderSkipReason {
    /// The folder is not absolute, so it would depend on where a process starts.
    Relative,
    /// The folder lies in the caller's project, and the command was not approved for that folder.
    InsideProject,
}

// === impl SearchPath ===

impl SearchPath {
    /// Checks the value of `PATH` for a command that starts in `start_folder`, called from `project`. Reads
    /// links, so it may block.
    pub fn new(path: &OsStr, start_folder: &Path, project: &Path) -> Self {
        let project = ProjectFolder::new(start_folder, project);
        let judge = |folder: PathBuf| {
            let reason = project.skip_reason(&folder);
            (folder, reason)
        };
        Self { folders: std::env::split_paths(path).map(judge).collect() }
    }

    /// The skipped folders, each once.
    pub fn skipped(&self) -> impl Iterator<Item = (&Path, FolderSkipReason)> {
        let skipped = self.folders.iter().enumerate();
        let is_first = |(at, pair): &(usize, &(PathBuf, Option<FolderSkipReason>))| {
            !self.folders[..*at].contains(*pair)
        };
        skipped
            .filter(is_first)
            .filter_map(|(_, (folder, reason))| Some((folder.as_path(), (*reason)?)))
    }

    /// The value of `PATH` without the skipped folders; `None` if none is skipped.
    pub fn restricted_value(&self) -> Option<OsString> {
        self.skipped().next()?;
        let kept = self.folders.iter().filter(|(_, reason)| reason.is_none());
        // Folders of a `PATH` can be joined into one. If that failed, no folder would be searched.
        Some(std::env::join_paths(kept.map(|(folder, _)| folder)).unwrap_or_default())
    }

    /// The first file with this name in `PATH`, if it lies in a skipped folder. Relative folders are resolved
    /// against `base`, as they were before.
    pub(crate) fn skipped_program(&self, name: &str, base: &Path) -> Option<PathBuf> {
        let file = |folder: &Path| Some(base.join(folder).join(name)).filter(|file| file.is_file());
        let mut found =
            self.folders.iter().filter_map(|(folder, reason)| Some((file(folder)?, reason)));
        found.next().filter(|(_, reason)| reason.is_some()).map(|(file, _)| file)
    }
}

/// The `PATH` for the environment of a command that starts in `start_folder`, called from `project`; `None`
/// if no folder is skipped. Of two variables with one name, the last one wins.
pub fn restricted_path(
    environment: &[(OsString, OsString)],
    start_folder: &Path,
    project: &Path,
) -> Option<(OsString, OsString)> {
    let (name, path) = environment.iter().rev().find(|(name, _)| name == "PATH")?;
    Some((name.clone(), SearchPath::new(path, start_folder, project).restricted_value()?))
}

/// Whether a command is a bare name to look up, not a path.
pub(crate) fn is_bare_command(command: &str) -> bool {
    !command.is_empty() && !command.contains('/')
}

/// The project folder, in which nothing is looked up.
enum ProjectFolder {
    /// The command was approved for it, or for a folder in it.
    Approved,
    /// Another project: the path as the caller names it, and without links.
    Other(PathBuf, PathBuf),
}

// === impl ProjectFolder ===

impl ProjectFolder {
    fn new(start_folder: &Path, project: &Path) -> Self {
        let real = canonical_or_same(project);
        if canonical_or_same(start_folder).starts_with(&real) {
            Self::Approved
        } else {
            Self::Other(project.to_owned(), real)
        }
    }

    fn skip_reason(&self, folder: &Path) -> Option<FolderSkipReason> {
        if !folder.is_absolute() {
            return Some(FolderSkipReason::Relative);
        }
        let Self::Other(named, real) = self else { return None };
        let is_inside = |folder: &Path| folder.starts_with(named) || folder.starts_with(real);
        (is_inside(folder) || is_inside(&canonical_or_same(folder)))
            .then_some(FolderSkipReason::InsideProject)
    }
}

/// Resolves links. A folder that does not exist keeps its name, as nothing can be found in it.
fn canonical_or_same(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

// === impl FolderSkipReason ===

impl fmt::Display for FolderSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Relative => "it is not an absolute path",
            Self::InsideProject => "it lies in this project",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Checks `PATH` and start folder, both relative to a temporary folder, against the kept and skipped
    /// folders.
    fn check(path: &str, start_folder: &str, project: &str, expected: &str) {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        for folder in ["home/bin", "home/work/clone/bin", "usr/bin"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("work/clone/bin", root.join("home/link")).unwrap();
        let at = |name: &str| format!("{}/{name}", root.display());
        let given: Vec<_> = path
            .split(':')
            .map(|name| name.strip_prefix('/').map_or(name.to_owned(), at))
            .collect();
        let given = OsString::from(given.join(":"));
        let search = SearchPath::new(&given, &root.join(start_folder), &root.join(project));
        let kept = search.restricted_value().unwrap_or(given).into_string().unwrap();
        let skipped = search.skipped().map(|(folder, why)| format!("{} {why:?}", folder.display()));
        let found = format!("{kept} | {}", skipped.collect::<Vec<_>>().join(", "));
        assert_eq!(found.replace(&format!("{}/", root.display()), "/"), expected, "{path}");
    }

    #[test]
    fn a_clone_has_no_say_in_what_a_command_means() {
        let (home, clone) = ("home", "home/work/clone");
        check("/home/bin:/usr/bin", home, clone, "/home/bin:/usr/bin | ");
        check(
            "/home/work/clone/bin:/usr/bin",
            home,
            clone,
            "/usr/bin | /home/work/clone/bin InsideProject",
        );
        check(
            "node_modules/.bin::/usr/bin:.",
            home,
            clone,
            "/usr/bin | node_modules/.bin Relative,  Relative, . Relative",
        );
        // Through a link of the user, spelt so that only the file system can resolve it.
        check("/home/link:/usr/bin", home, clone, "/usr/bin | /home/link InsideProject");
        check(
            "/usr/../home/work/clone/bin:/usr/bin",
            home,
            clone,
            "/usr/bin | /usr/../home/work/clone/bin InsideProject",
        );
        // An entry of a folder above was not approved for the clone in it.
        check(
            "/home/work/clone/bin:/usr/bin",
            "home/work",
            clone,
            "/usr/bin | /home/work/clone/bin InsideProject",
        );
    }

    #[test]
    fn the_approved_folder_may_hold_programs_but_not_by_relative_names() {
        let clone = "home/work/clone";
        check("/home/work/clone/bin:/usr/bin", clone, clone, "/home/work/clone/bin:/usr/bin | ");
        check("bin:/home/work/clone/bin", clone, clone, "/home/work/clone/bin | bin Relative");
        // A client that was started in `/`, or in the home folder, works in no foreign project.
        check("/home/bin:/usr/bin", "home", "", "/home/bin:/usr/bin | ");
        check("/home/bin:/usr/bin", "home", "home", "/home/bin:/usr/bin | ");
    }
}
