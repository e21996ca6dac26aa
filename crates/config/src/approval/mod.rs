//! Approvals: a person's decisions on the content of a project tree.
//!
//! Used by `resolve` through its `ApprovalGate`, by `workspace` and by the commands `approve` and `reject`. A
//! project tree is written by its authors, not by the user. Its content takes effect only after user state
//! holds its hash; until then it may restrict, never permit. Trust is per item, keyed by the folder of its
//! file and by its content: equal text elsewhere, or other text here, needs a new decision.

mod diff;
mod item;
mod store;

pub use diff::{ApprovalChange, RedactedChange, diff_contents};
pub(crate) use item::hex;
pub use item::{ApprovalItem, ApprovalItemKind};
pub use store::{ApprovalStore, Approvals, ItemVerdict};
