//! Recent calls with their parameters and results, kept in memory while a person watches calls.
//!
//! Used by the hub's admin interface; filled by `dispatch::call_recorder`. Limited in number and bytes, and only
//! for the local principal: calls of principals that come over the network with their own tokens are private. While
//! no one watches, a call pays for one atomic load. The audit log (`audit`) never holds parameters or results.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use switchboard_wire::json::Raw;

use crate::audit::CallRecord;
use crate::dispatch::CallError;
use crate::engine::Engine;

/// How many calls are kept, and how many bytes of their texts.
const MAX_RECENT_CALLS: usize = 256;
const MAX_RECENT_BYTES: usize = 8 << 20;
/// Longer parameters or results are not kept.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// The principal that may be watched.
const OBSERVED_PRINCIPAL: &str = crate::principal::LOCAL_PRINCIPAL;

/// A recent call, with its parameters and its result.
#[derive(Debug)]
pub struct RecentCall {
    /// The record of the call.
    pub called: Arc<CallRecord>,
    /// The parameters; `None` if they were too long.
    pub params: Option<Box<str>>,
    /// The result.
    pub answer: RecentCallResult,
}

/// The result of a recent call.
#[derive(Debug, Default)]
pub enum RecentCallResult {
    /// No result: the call was dropped, or goes on with its caller.
    #[default]
    None,
    /// A result.
    Result(Box<str>),
    /// A result that was too long.
    TooLong,
    /// An error.
    Error(Box<CallError>),
}

/// Calls are kept while this is held.
#[derive(Debug)]
pub struct CallWatcher(Arc<RecentCalls>);

/// The recent calls.
#[derive(Debug, Default)]
pub(crate) struct RecentCalls {
    looking: AtomicUsize,
    kept: Mutex<RecentCallBuffer>,
}

#[derive(Debug, Default)]
struct RecentCallBuffer {
    last: u64,
    bytes: usize,
    calls: VecDeque<Arc<RecentCall>>,
}

/// The observed texts of a running call.
#[derive(Debug, Default)]
pub(crate) struct CallObservation {
    params: Option<Box<str>>,
    pub(crate) answer: RecentCallResult,
}

// === impl Engine ===

impl Engine {
    /// Keeps the texts of calls from now on, while the returned value is held.
    pub fn watch_calls(&self) -> CallWatcher {
        self.0.recent.looking.fetch_add(1, Ordering::Relaxed);
        CallWatcher(Arc::clone(&self.0.recent))
    }

    /// Returns the call of this number, if its texts are still kept.
    pub fn recent_call(&self, number: u64) -> Option<Arc<RecentCall>> {
        let kept = self.0.recent.lock();
        kept.calls.iter().find(|said| said.called.recent_id == Some(number)).cloned()
    }

    /// Returns the records of all kept calls, oldest first.
    pub fn recent_calls(&self) -> Vec<Arc<CallRecord>> {
        self.0.recent.lock().calls.iter().map(|said| Arc::clone(&said.called)).collect()
    }
}

// === impl CallWatcher ===

impl Drop for CallWatcher {
    fn drop(&mut self) {
        self.0.looking.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl RecentCalls ===

impl RecentCalls {
    /// Begins to observe a call, if calls are watched and its principal may be watched.
    pub(crate) fn observe(&self, principal: &str, params: &Raw) -> Option<Box<CallObservation>> {
        if self.looking.load(Ordering::Relaxed) == 0 || principal != OBSERVED_PRINCIPAL {
            return None;
        }
        Some(Box::new(CallObservation {
            params: copy_if_short(params),
            answer: RecentCallResult::None,
        }))
    }

    /// Stores the texts of a call that has ended.
    pub(crate) fn store(&self, mut called: CallRecord, heard: CallObservation) -> Arc<CallRecord> {
        let mut kept = self.lock();
        kept.last += 1;
        called.recent_id = Some(kept.last);
        let called = Arc::new(called);
        let CallObservation { params, answer } = heard;
        kept.push(RecentCall { called: Arc::clone(&called), params, answer });
        called
    }

    fn lock(&self) -> MutexGuard<'_, RecentCallBuffer> {
        self.kept.lock()
    }
}

// === impl RecentCallBuffer ===

impl RecentCallBuffer {
    fn push(&mut self, said: RecentCall) {
        self.bytes += said.bytes();
        self.calls.push_back(Arc::new(said));
        while self.calls.len() > MAX_RECENT_CALLS || self.bytes > MAX_RECENT_BYTES {
            let Some(oldest) = self.calls.pop_front() else { return };
            self.bytes -= oldest.bytes();
        }
    }
}

// === impl RecentCall ===

impl RecentCall {
    fn bytes(&self) -> usize {
        let answer = match &self.answer {
            RecentCallResult::Result(result) => result.len(),
            RecentCallResult::None | RecentCallResult::TooLong | RecentCallResult::Error(_) => 0,
        };
        answer + self.params.as_ref().map_or(0, |params| params.len())
    }
}

// === impl RecentCallResult ===

impl RecentCallResult {
    pub(crate) fn result(result: &Raw) -> Self {
        copy_if_short(result).map_or(Self::TooLong, Self::Result)
    }
}

/// Copies a short text: the original may be part of a much larger buffer, which would be kept with it.
fn copy_if_short(raw: &Raw) -> Option<Box<str>> {
    (raw.as_str().len() <= MAX_TEXT_BYTES).then(|| raw.as_str().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{CallEnd, CallerIdentity};
    use std::time::{Duration, SystemTime};

    fn called() -> CallRecord {
        CallRecord {
            at: SystemTime::UNIX_EPOCH,
            caller: Arc::new(CallerIdentity {
                workspace: "/app".into(),
                session: "s".to_owned(),
                client: String::new(),
                principal: crate::principal::Principal::local(),
                transport: "socket",
            }),
            server: "kiosk".to_owned(),
            secrets: Arc::default(),
            method: "tools/call".into(),
            name: String::new(),
            decision: None,
            end: CallEnd::Result,
            duration: Duration::ZERO,
            stages: crate::audit::StageTimes::default(),
            sent: 0,
            received: 0,
            recent_id: None,
        }
    }

    fn text(length: usize) -> Raw {
        Raw::parse(format!("\"{}\"", "x".repeat(length - 2))).unwrap()
    }

    #[test]
    fn nothing_is_heard_while_nobody_looks_or_it_is_not_theirs() {
        let recent = Arc::new(RecentCalls::default());
        assert!(recent.observe(OBSERVED_PRINCIPAL, &text(2)).is_none(), "nobody looks");
        recent.looking.fetch_add(1, Ordering::Relaxed);
        let looking = CallWatcher(Arc::clone(&recent));
        assert!(recent.observe("ann", &text(2)).is_none(), "a call of somebody else");
        assert!(recent.observe(OBSERVED_PRINCIPAL, &text(2)).is_some());
        drop(looking);
        assert!(recent.observe(OBSERVED_PRINCIPAL, &text(2)).is_none(), "whoever looked is gone");
    }

    #[test]
    fn so_many_calls_and_bytes_are_kept_and_no_more() {
        let recent = RecentCalls::default();
        recent.looking.fetch_add(1, Ordering::Relaxed);
        let keep = |length| {
            let mut heard = recent.observe(OBSERVED_PRINCIPAL, &text(length)).unwrap();
            heard.answer = RecentCallResult::result(&text(length));
            recent.store(called(), *heard).recent_id
        };
        for number in 1..=MAX_RECENT_CALLS as u64 + 2 {
            assert_eq!(keep(10), Some(number));
        }
        let kept = recent.lock();
        assert_eq!((kept.calls.len(), kept.bytes), (MAX_RECENT_CALLS, MAX_RECENT_CALLS * 20));
        assert_eq!(kept.calls[0].called.recent_id, Some(3), "the oldest make room");
        drop(kept);
        for _ in 0..MAX_RECENT_CALLS {
            keep(MAX_TEXT_BYTES);
        }
        let kept = recent.lock();
        assert_eq!(
            (kept.calls.len(), kept.bytes),
            (MAX_RECENT_BYTES / MAX_TEXT_BYTES / 2, MAX_RECENT_BYTES)
        );
        drop(kept);
        keep(MAX_TEXT_BYTES + 1);
        let kept = recent.lock();
        let last = kept.calls.back().unwrap();
        assert!(last.params.is_none() && matches!(last.answer, RecentCallResult::TooLong));
    }
}
