//! Small files with secrets: read whole, and only if other users of the machine can neither read nor change them.
//!
//! Used by `keys` and `nats::credentials`. It does not know what the files hold.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::ClusterError;

/// The largest file with secrets.
const MAX_FILE_BYTES: u64 = 16 * 1024;

/// Reads a file that only its owner, or a group that another owner chose, can read.
pub(crate) fn read_private_text(path: &Path) -> Result<String, ClusterError> {
    let failed = |source| ClusterError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if let Some(access) = foreign_access(&file).map_err(failed)? {
        return Err(ClusterError::FileAccess { path: path.to_owned(), access });
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// What others may do with the file that they must not. A group may read what it does not own: that is how Kubernetes
/// and systemd hand secrets to a service.
#[cfg(unix)]
fn foreign_access(file: &File) -> std::io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt as _;
    let facts = file.metadata()?;
    let (mode, is_given) = (facts.mode(), facts.uid() == 0);
    let readable = if is_given { 0o004 } else { 0o044 };
    Ok(match () {
        () if mode & 0o022 != 0 => Some("written"),
        () if mode & readable != 0 => Some("read"),
        () => None,
    })
}

#[cfg(not(unix))]
fn foreign_access(_: &File) -> std::io::Result<Option<&'static str>> {
    Ok(None)
}
