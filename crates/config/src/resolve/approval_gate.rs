//! The approval gate: the one place where `resolve` checks whether an item is approved.
//!
//! Used by `resolve`. It does not record decisions (`approval::store`).

use crate::approval::{ApprovalChange, ApprovalItem, Approvals, ItemVerdict};

/// An item without a person's decision.
#[derive(Debug, Clone, PartialEq)]
pub struct UndecidedItem {
    /// The item. A front that asks for approval shows its whole content: as written, unexpanded, not
    /// redacted.
    pub item: ApprovalItem,
    /// The changes since the last approval, as written; absent if it was never approved.
    pub changes: Option<Vec<ApprovalChange>>,
}

/// Passes approved items, and collects the undecided ones.
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

    /// The decision on a server's item. An approval that is older than the rule on start folders counts only
    /// if that rule changes nothing for the server: `start_changes` returns its changes.
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

    /// Whether `item` is approved; an undecided item becomes pending.
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
