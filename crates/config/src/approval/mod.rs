//! What a person has agreed to.
//!
//! Whatever stands inside a project tree was written by whoever wrote the project. It counts only after user state
//! holds its hash; until then it may take away, never permit. Trust is per item, keyed by the folder of its file and
//! by its content: the same text elsewhere, or other text here, asks again.

mod diff;
mod item;
mod store;

pub use diff::{ApprovalChange, RedactedChange, diff_contents};
pub(crate) use item::hex;
pub use item::{ApprovalItem, ApprovalItemKind};
pub use store::{ApprovalStore, Approvals, ItemVerdict};
