//! The one thread that writes logs. It ends when nothing more will come.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use super::{
    file::LogFile,
    queue::{Batch, Queues},
};

/// How many files are held open; the rest is opened again when it is written to.
const MOST_OPEN: usize = 64;

/// Starts the thread.
pub(super) fn start(queues: Arc<Queues>) -> io::Result<()> {
    let write = move || {
        let mut files = HashMap::new();
        while let Some(batches) = queues.take() {
            let mut trouble = None;
            for (path, batch) in batches {
                if let Err(error) = write(&mut files, &path, &batch) {
                    // Whatever became of the file, the next batch finds out afresh.
                    files.remove(&path);
                    trouble = Some(format!("{}: {error}", path.display()));
                }
            }
            queues.set_trouble(trouble);
        }
    };
    thread::Builder::new().name("logs".to_owned()).spawn(write).map(|_| ())
}

fn write(files: &mut HashMap<PathBuf, LogFile>, path: &Path, batch: &Batch) -> io::Result<()> {
    if !files.contains_key(path) {
        if files.len() == MOST_OPEN {
            files.clear();
        }
        files.insert(path.to_owned(), LogFile::open(path)?);
    }
    match files.get_mut(path) {
        Some(file) => file.write(batch),
        None => Ok(()),
    }
}
