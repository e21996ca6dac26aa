//! Paths: the repository, Cargo's target folder, the cache outside the clone.
//!
//! Used by all verbs.

use std::env;
use std::path::PathBuf;

use crate::failure::{Failure, Result};

/// The repository's root, above the folder that cargo names when it runs `xtask`.
pub(crate) fn root() -> PathBuf {
    let own = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let above = own.and_then(|folder| folder.parent().map(PathBuf::from));
    above.unwrap_or_else(|| PathBuf::from("."))
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The user's cache folder, which outlives a clone.
pub(crate) fn cache() -> Result<PathBuf> {
    let xdg = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    xdg.or_else(home).ok_or_else(|| {
        Failure::new("cannot tell where to keep installed peers and tools")
            .because("neither HOME nor XDG_CACHE_HOME is set")
            .hint("set XDG_CACHE_HOME to a folder that may be written")
    })
}
