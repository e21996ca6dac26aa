//! The watcher of plugin folders.
//!
//! Used by `plugins`. It does not scan the folders (`catalog_task`).

use std::path::PathBuf;

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use crate::catalog_task::CatalogTaskMessage;

/// Watches folders until it is dropped.
pub(crate) struct FolderWatch {
    _watcher: notify::RecommendedWatcher,
}

/// Watches `folders`; `None` if that fails, and the caller has to poll.
pub(crate) fn watch_folders(
    folders: &[PathBuf],
    words: mpsc::Sender<CatalogTaskMessage>,
) -> Option<FolderWatch> {
    let heard = move |event: notify::Result<notify::Event>| {
        let is_access = event.is_ok_and(|event| event.kind.is_access());
        // If the queue is full, the queued messages have this effect already.
        if !is_access {
            let _ = words.try_send(CatalogTaskMessage::Look);
        }
    };
    let mut watcher = notify::recommended_watcher(heard).ok()?;
    for folder in folders {
        // A file is replaced through its folder.
        let folder = if folder.is_file() { folder.parent()? } else { folder };
        watcher.watch(folder, RecursiveMode::Recursive).ok()?;
    }
    Some(FolderWatch { _watcher: watcher })
}
