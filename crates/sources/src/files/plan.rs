//! The watch plan: which folders report every change that can affect a path.
//!
//! Used by `files::watch`. A file is reached through every folder above it and every link on the way, and
//! each of these can be created, replaced or pointed elsewhere. So each folder is watched, and only events
//! for names on the way count.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};

/// As many links as the operating system follows.
const MAX_LINKS: usize = 40;

/// The folders to watch, and the names in them that count. All paths are free of links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WatchPlan {
    folders: BTreeMap<PathBuf, FolderIdentity>,
    names: BTreeSet<PathBuf>,
    /// Folders in which every entry counts.
    listed: BTreeSet<PathBuf>,
}

/// Device and inode of a folder, because another folder may get its name.
type FolderIdentity = (u64, u64);

// === impl WatchPlan ===

impl WatchPlan {
    /// The plan for these paths; of `marks` only the existence counts.
    pub(super) fn for_paths<'a>(
        paths: impl Iterator<Item = &'a PathBuf>,
        marks: impl Iterator<Item = &'a PathBuf>,
    ) -> Self {
        let mut plan = Self::default();
        for path in paths {
            if let Some(folder) = plan.walk(path) {
                plan.listed.insert(folder);
            }
        }
        for mark in marks {
            plan.walk(mark);
        }
        plan
    }

    /// The folders to watch.
    pub(super) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.keys()
    }

    /// Whether the plan watches this folder.
    pub(super) fn listens_to(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// Whether an event for `path` counts.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let in_listed = path.parent().is_some_and(|parent| self.listed.contains(parent));
        in_listed || self.names.contains(path) || self.listed.contains(path)
    }

    /// Walks from the root to `path` as the operating system would, and records the folders and names on the
    /// way. Returns the last folder, if the path leads to one.
    fn walk(&mut self, path: &Path) -> Option<PathBuf> {
        let mut here = PathBuf::new();
        let mut rest: VecDeque<OsString> = path_components(path).collect();
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            if here.as_os_str().is_empty() {
                here.push(part);
                self.listen(&here, &fs::metadata(&here).ok()?);
                continue;
            }
            if part == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&part);
            self.names.insert(next.clone());
            let found = fs::symlink_metadata(&next).ok()?;
            if found.is_symlink() {
                links += 1;
                let target = fs::read_link(&next).ok().filter(|_| links <= MAX_LINKS)?;
                if target.is_absolute() {
                    here.clear();
                }
                path_components(&target).rev().for_each(|part| rest.push_front(part));
            } else if found.is_dir() {
                self.listen(&next, &found);
                here = next;
            } else {
                return None;
            }
        }
        Some(here)
    }

    fn listen(&mut self, folder: &Path, found: &Metadata) {
        self.folders.insert(folder.to_owned(), identity(found));
    }
}

fn path_components(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    let parts = path.components();
    parts.filter(|part| *part != Component::CurDir).map(|part| part.as_os_str().to_owned())
}

fn identity(found: &Metadata) -> FolderIdentity {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn plan(path: PathBuf) -> WatchPlan {
        WatchPlan::for_paths([path].iter(), [].iter())
    }

    #[test]
    fn listens_down_to_the_last_folder_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("a")).unwrap();
        let plan = plan(root.join("a/b/c.json"));
        assert!(plan.listens_to(&root) && plan.listens_to(&root.join("a")));
        assert!(plan.concerns(&root.join("a")) && plan.concerns(&root.join("a/b")));
        assert!(!plan.concerns(&root.join("b")) && !plan.concerns(&root.join("a/c")));
    }

    #[test]
    fn follows_links_of_files_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        fs::write(root.join("real/deep/target.json"), "{}").unwrap();
        symlink("real", root.join("linked")).unwrap();
        symlink("../real/deep/target.json", root.join("real/file.json")).unwrap();
        let plan = plan(root.join("linked/file.json"));
        for name in ["linked", "real", "real/file.json", "real/deep", "real/deep/target.json"] {
            assert!(plan.concerns(&root.join(name)), "{name}");
        }
        assert!(plan.listens_to(&root.join("real/deep")));
        assert!(!plan.listens_to(&root.join("linked")));
    }

    #[test]
    fn a_circle_of_links_ends() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        symlink("two", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        let plan = plan(root.join("one"));
        assert!(plan.concerns(&root.join("one")) && plan.concerns(&root.join("two")));
    }

    #[test]
    fn every_entry_of_a_listed_folder_matters() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert!(plan(root.clone()).concerns(&root.join("anything")));
        let marked = WatchPlan::for_paths([].iter(), [root.clone()].iter());
        assert!(!marked.concerns(&root.join("anything")) && marked.concerns(&root));
    }
}
