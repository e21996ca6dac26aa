//! A record of every call: who called what, what was decided and why, how it ended, how long it took.
//!
//! A call makes one [`CallRecord`], however it ends, and hands it to an [`AuditSink`], which must not hold the call up. The one
//! that comes with the engine is [`AuditLog`]: lines of JSON in a rotated file that only its owner can read.
//!
//! Values of arguments and results are never part of it (`engine::Said` has them, in memory). This module refuses to know who reads it.

mod call_record;
mod file;
mod history;
mod line;
mod log;
mod queue;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use call_record::{CallDecision, CallEnd, CallRecord, CallerIdentity};
pub use history::{AuditFilter, AuditFollower, AuditHistory, follow_audit_log, read_audit_log};
pub use line::{AuditCallLine, AuditEntry, AuditGap};
pub use log::AuditLog;

use crate::problem::EngineProblem;

/// Where records go. Another machine's store would implement it too.
pub trait AuditSink: Send + Sync + 'static {
    /// Takes the record of a call that has ended. It never waits; what it cannot take it counts.
    fn record_call(&self, called: &Arc<CallRecord>);

    /// What is wrong with it, if anything: what was lost is told, never passed over.
    fn problem(&self) -> Option<EngineProblem>;

    /// Waits, for a moment at most, until what was taken is kept.
    fn settle(&self) -> BoxFuture<'_, ()>;
}
