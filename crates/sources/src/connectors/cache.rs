//! The cached copy of the connector catalog in user state, for when fetching fails.
//!
//! Used by `connectors::catalog` (load) and `connectors::refresh` (store).

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::fetch::{MAX_CATALOG_BYTES, is_catalogue};

/// The version of the cache file; a file of another version is ignored.
const CACHE_FILE_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct CachedCatalog<'a> {
    version: u32,
    /// The whole URL, so that a copy is never used for another catalog.
    url: std::borrow::Cow<'a, str>,
    catalogue: std::borrow::Cow<'a, str>,
}

/// Loads the copy for `url`. A damaged copy counts as none.
pub(super) fn load(state_dir: &Path, url: &str) -> Option<String> {
    let path = cache_path(state_dir, url);
    // JSON escapes can double the length.
    let limit = 2 * MAX_CATALOG_BYTES as u64 + 4096;
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.take(limit).read_to_string(&mut text).ok()?;
    let kept: CachedCatalog<'_> = serde_json::from_str(&text).ok()?;
    let is_ours =
        kept.version == CACHE_FILE_VERSION && kept.url == url && is_catalogue(&kept.catalogue);
    is_ours.then(|| kept.catalogue.into_owned())
}

/// Stores a copy that only its owner can read.
pub(super) fn store(
    state_dir: &Path,
    url: &str,
    catalogue: &str,
) -> Result<(), (PathBuf, io::Error)> {
    let path = cache_path(state_dir, url);
    write(&path, url, catalogue).map_err(|source| (path, source))
}

fn write(path: &Path, url: &str, catalogue: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_private_folder(folder)?;
    let kept =
        CachedCatalog { version: CACHE_FILE_VERSION, url: url.into(), catalogue: catalogue.into() };
    let mut staged = tempfile::NamedTempFile::new_in(folder)?;
    staged.write_all(&serde_json::to_vec(&kept)?)?;
    staged.as_file().sync_all()?;
    staged.persist(path)?;
    Ok(())
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn cache_path(state_dir: &Path, url: &str) -> PathBuf {
    use std::fmt::Write as _;
    let mut name = String::new();
    for byte in &Sha256::digest(url)[..16] {
        let _ = write!(name, "{byte:02x}");
    }
    state_dir.join("connectors").join(name + ".json")
}
