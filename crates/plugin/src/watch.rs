//! Word of changes in folders.

use std::path::PathBuf;

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use crate::catalog_task::CatalogTaskMessage;

/// Watches folders for as long as it lives.
pub(crate) struct FolderWatch {
    _watcher: notify::RecommendedWatcher,
}

/// Watches `folders`. Where that cannot be done they have to be looked at now and then.
pub(crate) fn watch_folders(
    folders: &[PathBuf],
    words: mpsc::Sender<CatalogTaskMessage>,
) -> Option<FolderWatch> {
    let heard = move |event: notify::Result<notify::Event>| {
        let is_access = event.is_ok_and(|event| event.kind.is_access());
        // A queue that is full says already what this would.
        if !is_access {
            let _ = words.try_send(CatalogTaskMessage::Look);
        }
    };
    let mut watcher = notify::recommended_watcher(heard).ok()?;
    for folder in folders {
        // A file is replaced by way of its folder.
        let folder = if folder.is_file() { folder.parent()? } else { folder };
        watcher.watch(folder, RecursiveMode::Recursive).ok()?;
    }
    Some(FolderWatch { _watcher: watcher })
}
