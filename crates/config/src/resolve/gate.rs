//! The one place where trust is asked for.

use crate::trust::{Approvals, Change, Item, Verdict};

/// Something a person has not decided about.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// What it is. A front that asks a person shows its content whole: as written, unexpanded, unmasked.
    pub item: Item,
    /// What changed since it was approved last, as written; absent where it never was.
    pub changes: Option<Vec<Change>>,
}

/// Lets pass what was approved and collects what was not asked about.
#[derive(Debug)]
pub(super) struct Gate {
    approvals: Approvals,
    pending: Vec<Pending>,
}

impl Gate {
    pub(super) fn new(approvals: Approvals) -> Self {
        Self { approvals, pending: Vec::new() }
    }

    pub(super) fn verdict(&self, item: &Item) -> Verdict {
        self.approvals.verdict(item)
    }

    /// What is known about a server's item. An approval that is older than the rule about start folders counts only
    /// where that rule changes nothing: `start_changes` says what it changes.
    pub(super) fn server_verdict(
        &self,
        item: &Item,
        start_changes: impl FnOnce() -> Vec<Change>,
    ) -> Verdict {
        match self.verdict(item) {
            Verdict::Approved if self.approvals.predates_start_folders(item) => {
                let changes = start_changes();
                if changes.is_empty() {
                    Verdict::Approved
                } else {
                    Verdict::Unknown { changes: Some(changes) }
                }
            }
            verdict => verdict,
        }
    }

    /// Whether `item` counts; if nobody decided yet it becomes pending.
    pub(super) fn lets_pass(&mut self, item: &Item) -> bool {
        match self.verdict(item) {
            Verdict::Approved => true,
            Verdict::Rejected => false,
            Verdict::Unknown { changes } => {
                self.ask(item, changes);
                false
            }
        }
    }

    pub(super) fn ask(&mut self, item: &Item, changes: Option<Vec<Change>>) {
        if !self.pending.iter().any(|pending| pending.item == *item) {
            self.pending.push(Pending { item: item.clone(), changes });
        }
    }

    pub(super) fn into_pending(self) -> Vec<Pending> {
        self.pending
    }
}
