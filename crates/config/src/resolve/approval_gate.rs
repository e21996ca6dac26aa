//! The one place where trust is asked for.

use crate::approval::{ApprovalChange, ApprovalItem, Approvals, ItemVerdict};

/// Something a person has not decided about.
#[derive(Debug, Clone, PartialEq)]
pub struct UndecidedItem {
    /// What it is. A front that asks a person shows its content whole: as written, unexpanded, unmasked.
    pub item: ApprovalItem,
    /// What changed since it was approved last, as written; absent where it never was.
    pub changes: Option<Vec<ApprovalChange>>,
}

/// Lets pass what was approved and collects what was not asked about.
#[derive(Debug)]
pub(super) struct ApprovalGate {
    approvals: Approvals,
    pending: Vec<UndecidedItem>,
}

impl ApprovalGate {
    pub(super) fn new(approvals: Approvals) -> Self {
        Self { approvals, pending: Vec::new() }
    }

    pub(super) fn verdict(&self, item: &ApprovalItem) -> ItemVerdict {
        self.approvals.verdict(item)
    }

    /// What is known about a server's item. An approval that is older than the rule about start folders counts only
    /// where that rule changes nothing: `start_changes` says what it changes.
    pub(super) fn server_verdict(
        &self,
        item: &ApprovalItem,
        start_changes: impl FnOnce() -> Vec<ApprovalChange>,
    ) -> ItemVerdict {
        match self.verdict(item) {
            ItemVerdict::Approved if self.approvals.predates_start_folders(item) => {
                let changes = start_changes();
                if changes.is_empty() {
                    ItemVerdict::Approved
                } else {
                    ItemVerdict::Unknown { changes: Some(changes) }
                }
            }
            verdict => verdict,
        }
    }

    /// Whether `item` counts; if nobody decided yet it becomes pending.
    pub(super) fn check_or_ask(&mut self, item: &ApprovalItem) -> bool {
        match self.verdict(item) {
            ItemVerdict::Approved => true,
            ItemVerdict::Rejected => false,
            ItemVerdict::Unknown { changes } => {
                self.ask(item, changes);
                false
            }
        }
    }

    pub(super) fn ask(&mut self, item: &ApprovalItem, changes: Option<Vec<ApprovalChange>>) {
        if !self.pending.iter().any(|pending| pending.item == *item) {
            self.pending.push(UndecidedItem { item: item.clone(), changes });
        }
    }

    pub(super) fn into_pending(self) -> Vec<UndecidedItem> {
        self.pending
    }
}
