//! The files of one spilled result: its text or blob, and a card that names the owner.
//!
//! Used by `results::store` and its sweep.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The length of an id in bytes.
pub(super) const ID_BYTES: usize = 16;

/// The owner of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OwnerCard {
    pub(super) owner: String,
    pub(super) file: String,
}

// === impl OwnerCard ===

impl OwnerCard {
    pub(super) fn write(&self, dir: &Path, id: &str) -> io::Result<()> {
        let open =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(card(dir, id));
        open?.write_all(serde_json::to_string(self)?.as_bytes())
    }

    /// Reads the card of `id`; `None` if there is none, or if it names a file of another id.
    pub(super) fn read(dir: &Path, id: &str) -> Option<Self> {
        let text = fs::read_to_string(card(dir, id)).ok()?;
        let card: Self = serde_json::from_str(&text).ok()?;
        (id_of(Path::new(&card.file)) == Some(id) && !card.file.contains('/')).then_some(card)
    }
}

fn card(dir: &Path, id: &str) -> PathBuf {
    dir.join(format!("{id}.meta"))
}

/// Whether `text` has the form of an id. Only ids become part of a path.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == ID_BYTES * 2 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The id that a file belongs to.
pub(super) fn id_of(file: &Path) -> Option<&str> {
    let name = file.file_name()?.to_str()?;
    let id = name.split_once('.')?.0;
    is_id(id).then_some(id)
}

/// Removes all files of `id`.
pub(super) fn remove(dir: &Path, id: &str) {
    let mut files = files(dir);
    files.retain(|file| id_of(file) == Some(id));
    remove_files(&files);
}

/// Removes these files. The next sweep retries the ones that cannot be removed.
pub(super) fn remove_files(files: &[PathBuf]) {
    for file in files {
        if let Err(error) = fs::remove_file(file) {
            tracing::debug!(file = %file.display(), %error, "a spilled result stays");
        }
    }
}

/// Lists every file of the store.
pub(super) fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| id_of(path).is_some()).collect()
}
