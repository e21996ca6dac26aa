//! Tests of the audit log: lines, secrets, and failing disks.

mod calls;
mod file;
mod written;

use std::path::Path;

use switchboard_core::audit::{AuditCallLine, AuditEntry, AuditFilter, AuditGap, read_audit_log};

/// Everything that was written, oldest first. Nothing of it may be unreadable.
async fn entries(logs: &Path) -> Vec<AuditEntry> {
    let history = read_audit_log(logs, AuditFilter::default(), usize::MAX).await.unwrap();
    assert_eq!(history.unreadable, 0);
    history.entries
}

fn calls(entries: &[AuditEntry]) -> Vec<&AuditCallLine> {
    let mut calls = Vec::new();
    for entry in entries {
        if let AuditEntry::Call(line) = entry {
            calls.push(&**line);
        }
    }
    calls
}

fn lost(entries: &[AuditEntry]) -> Vec<&AuditGap> {
    let mut lost = Vec::new();
    for entry in entries {
        if let AuditEntry::Lost(missing) = entry {
            lost.push(missing);
        }
    }
    lost
}
