//! The one thread that writes all server logs.
//!
//! Used by `ServerLogs::open`, which starts it. It takes batches from `logs::queue`, writes them with `logs::file`,
//! and ends when the queues are closed. It does not write the audit log, which has a thread of its own.

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

/// How many files stay open; others are opened again for each batch.
const MAX_OPEN_FILES: usize = 64;

/// Starts the writer thread.
pub(super) fn start(queues: Arc<LogQueues>) -> io::Result<()> {
    let write = move || {
        let mut files = HashMap::new();
        while let Some(batches) = queues.take() {
            let mut trouble = None;
            for (path, batch) in batches {
                if let Err(error) = write(&mut files, &path, &batch) {
                    // The next batch opens the file anew, in whichever state this error left it.
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
