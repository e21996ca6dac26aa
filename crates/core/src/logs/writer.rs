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
    queue::{LogBatch, LogQueues},
};

/// How many files are held open; the rest is opened again when it is written to.
const MAX_OPEN_FILES: usize = 64;

/// Starts the thread.
pub(super) fn start(queues: Arc<LogQueues>) -> io::Result<()> {
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

fn write(files: &mut HashMap<PathBuf, LogFile>, path: &Path, batch: &LogBatch) -> io::Result<()> {
    if !files.contains_key(path) {
        if files.len() == MAX_OPEN_FILES {
            files.clear();
        }
        files.insert(path.to_owned(), LogFile::open(path)?);
    }
    match files.get_mut(path) {
        Some(file) => file.write(batch),
        None => Ok(()),
    }
}
