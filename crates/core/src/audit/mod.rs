//! The audit record of every call: caller, server, tool, permission decision with its reason, outcome and duration.
//!
//! Used by `dispatch`: a call makes one [`CallRecord`], however it ends, which goes to an [`AuditSink`] that must not
//! hold the call up. The engine comes with [`AuditLog`]: lines of JSON in a rotated file that only its owner can
//! read. `switchboard audit` and the hub's admin page read that file.
//!
//! It does not hold values of arguments or results (`engine::snapshot::recent_calls` keeps them, in memory).

mod call_record;
mod file;
mod history;
mod line;
mod log;
mod queue;
mod stage_times;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use call_record::{CallDecision, CallEnd, CallRecord, CallerIdentity};
pub use history::{AuditFilter, AuditFollower, AuditHistory, follow_audit_log, read_audit_log};
pub use line::{AuditCallLine, AuditEntry, AuditGap};
pub use log::AuditLog;
pub use stage_times::{CallStage, StageTimes};

use crate::problem::EngineProblem;

/// Where the records of calls go. A store on another machine would implement this trait too.
pub trait AuditSink: Send + Sync + 'static {
    /// Takes the record of a call that has ended. Never waits; counts the records that it cannot take.
    fn record_call(&self, called: &Arc<CallRecord>);

    /// The sink's current problem, if any. It also reports records that were lost.
    fn problem(&self) -> Option<EngineProblem>;

    /// Waits, for a moment at most, until the records taken so far are stored.
    fn settle(&self) -> BoxFuture<'_, ()>;
}
