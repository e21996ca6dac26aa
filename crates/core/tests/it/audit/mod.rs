//! The record of calls: what a line says, what it never says, and what becomes of it when the disk fails.

mod calls;
mod file;
mod written;

use std::path::Path;

use switchboard_core::audit::{Entry, Filter, Line, Lost, history};

/// Everything that was written, oldest first. Nothing of it may be unreadable.
async fn entries(logs: &Path) -> Vec<Entry> {
    let history = history(logs, Filter::default(), usize::MAX).await.unwrap();
    assert_eq!(history.unreadable, 0);
    history.entries
}

fn calls(entries: &[Entry]) -> Vec<&Line> {
    let mut calls = Vec::new();
    for entry in entries {
        if let Entry::Call(line) = entry {
            calls.push(&**line);
        }
    }
    calls
}

fn lost(entries: &[Entry]) -> Vec<&Lost> {
    let mut lost = Vec::new();
    for entry in entries {
        if let Entry::Lost(missing) = entry {
            lost.push(missing);
        }
    }
    lost
}
