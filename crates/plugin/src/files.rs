//! Plugin files: finding them in folders, digests, and private copies to load from.
//!
//! Used by `catalog_task` and `slot`. It does not load them (`worker::library`).

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::fault::PluginFault;

/// How deep folders are searched.
const MAX_FOLDER_DEPTH: usize = 16;
/// More plugins than anyone has.
const MAX_PLUGINS: usize = 1000;

/// The SHA-256 digest of a file.
pub(crate) type FileDigest = [u8; 32];

/// A file's size and time, which show without reading whether it may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    length: u64,
    modified: Option<SystemTime>,
}

/// Private copies of plugin files: a write to the original does not reach a worker that has the copy mapped.
#[derive(Debug)]
pub(crate) struct PrivateCopies {
    place: PathBuf,
    /// Created with the first copy.
    folder: OnceLock<TempDir>,
    count: AtomicU64,
}

/// A private copy, deleted with its last user.
#[derive(Debug)]
pub(crate) struct PrivateCopy {
    pub(crate) path: PathBuf,
    pub(crate) hash: FileDigest,
}

/// Finds the plugins in a folder and below it, in order. For the path of a file, returns that file. May
/// block.
pub fn find_plugins(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut found = Vec::new();
    search(folder, MAX_FOLDER_DEPTH, &mut found)?;
    found.sort();
    Ok(found)
}

/// The name of a plugin file, without its extension and without the `lib` that linkers put before it.
pub fn plugin_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.strip_prefix("lib").filter(|rest| !rest.is_empty()).unwrap_or(&stem).to_owned()
}

fn search(folder: &Path, deeper: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let Ok(entry) = entry else { continue };
        let (path, kind) = (entry.path(), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() && deeper > 0 => {
                // A folder that cannot be read does not hide its neighbours.
                let _ = search(&path, deeper - 1, found);
            }
            Ok(_) if is_plugin(&path) && found.len() < MAX_PLUGINS => found.push(path),
            _ => {}
        }
    }
    Ok(())
}

fn is_plugin(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    // A dangling link counts as a plugin that cannot be read, so that it is reported rather than skipped.
    matches!(ending, Some("so" | "dylib")) && (path.is_file() || leads_nowhere(path))
}

fn leads_nowhere(path: &Path) -> bool {
    path.is_symlink() && fs::metadata(path).is_err()
}

// === impl FileStamp ===

impl FileStamp {
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let seen = fs::metadata(path).or_else(|_| fs::symlink_metadata(path)).ok()?;
        Some(Self { length: seen.len(), modified: seen.modified().ok() })
    }
}

// === impl PrivateCopies ===

impl PrivateCopies {
    pub(crate) fn new(place: &Path) -> Self {
        Self { place: place.to_owned(), folder: OnceLock::new(), count: AtomicU64::new(0) }
    }

    fn folder(&self) -> io::Result<&Path> {
        if self.folder.get().is_none() {
            fs::create_dir_all(&self.place)?;
            let builder = tempfile::Builder::new().prefix("switchboard-plugins-").to_owned();
            // If two threads create the folder, the second folder is dropped.
            let _ = self.folder.set(builder.tempdir_in(&self.place)?);
        }
        self.folder.get().map(TempDir::path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Copies the file in its present state. May block.
    pub(crate) fn copy_file(&self, path: &Path) -> Result<PrivateCopy, PluginFault> {
        let wrong = |error: io::Error| PluginFault::File(error.to_string());
        let bytes = fs::read(path).map_err(wrong)?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let path = self.folder().map_err(wrong)?.join(format!("{number}-{name}"));
        fs::write(&path, &bytes).map_err(wrong)?;
        Ok(PrivateCopy { path, hash: Sha256::digest(&bytes).into() })
    }
}

// === impl PrivateCopy ===

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // If this fails, the file is deleted with its folder.
        let _ = fs::remove_file(&self.path);
    }
}
