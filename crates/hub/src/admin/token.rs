//! The bearer token of the admin API: one line in a private file in user state.
//!
//! Used by `loopback` and `access`; `passes` uses `random_word`. It does not expire: a person replaces it by deleting
//! the file.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nix::unistd::geteuid;
use sha2::{Digest as _, Sha256};

/// The name of the token's file in user state.
const TOKEN_FILE: &str = "admin-token";
/// Bytes of randomness.
const TOKEN_BYTES: usize = 32;

/// The token. Created once and stored, so that programs that know it work after a restart too.
#[derive(Clone)]
pub struct AdminToken {
    text: String,
    path: PathBuf,
}

/// Why the token could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the admin token in `{}`", path.display())]
pub struct AdminTokenError {
    /// The file.
    pub path: PathBuf,
    /// The error of the system.
    #[source]
    pub source: io::Error,
}

// === impl AdminToken ===

impl AdminToken {
    /// Loads the token from `state`, or creates one if there is none that only this user can read. May block.
    pub fn load_or_create(state: &Path) -> Result<Self, AdminTokenError> {
        let path = state.join(TOKEN_FILE);
        let failed = |source| AdminTokenError { path: path.clone(), source };
        let text = match read(&path) {
            Some(text) => text,
            None => create(state, &path).map_err(failed)?,
        };
        Ok(Self { text, path })
    }

    /// The path of the token's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `given` is the token. Digests are compared: the time of the comparison says nothing about the token.
    pub(super) fn matches(&self, given: &str) -> bool {
        Sha256::digest(given) == Sha256::digest(&self.text)
    }
}

/// Shows the path, never the token.
impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Reads the token; `None` if other users could have read or written its file.
fn read(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_private = found.is_file()
        && found.uid() == geteuid().as_raw()
        && found.permissions().mode() & 0o777 == 0o600;
    let text = fs::read_to_string(path).ok().filter(|_| is_private)?;
    let text = text.trim().to_owned();
    let is_whole = URL_SAFE_NO_PAD.decode(&text).is_ok_and(|bytes| bytes.len() == TOKEN_BYTES);
    is_whole.then_some(text)
}

/// A random text of 256 bits, base64.
pub(super) fn random_word() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn create(state: &Path, path: &Path) -> io::Result<String> {
    let text = random_word()?;
    fs::create_dir_all(state)?;
    // A temporary file has mode 0600 from the start, and `persist` replaces the old file atomically.
    let mut file = tempfile::NamedTempFile::new_in(state)?;
    writeln!(file, "{text}")?;
    file.persist(path)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stays_unless_others_could_read_it() {
        let state = tempfile::tempdir().unwrap();
        let first = AdminToken::load_or_create(&state.path().join("new")).unwrap();
        let mode = fs::metadata(first.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = AdminToken::load_or_create(&state.path().join("new")).unwrap();
        assert_eq!(again.text, first.text);
        assert!(again.matches(&first.text) && !again.matches("") && !again.matches("x"));
        fs::set_permissions(first.path(), fs::Permissions::from_mode(0o644)).unwrap();
        let other = AdminToken::load_or_create(&state.path().join("new")).unwrap();
        assert!(!other.matches(&first.text), "a token that others could read is still good");
        fs::write(other.path(), "").unwrap();
        assert!(!AdminToken::load_or_create(&state.path().join("new")).unwrap().matches(""));
    }
}
