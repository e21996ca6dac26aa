//! What the latest calls said and were answered, kept while somebody looks at them.
//!
//! In memory alone, so many calls and so many bytes and no more, and only of the user whose engine it is: whoever comes
//! over the network with a token of their own is nobody else's to read. While nobody looks, a call pays for one look at
//! a number.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_wire::json::Raw;

use crate::audit::CallRecord;
use crate::dispatch::CallError;
use crate::engine::Engine;

/// The most calls that are kept, and the most bytes of them.
const MAX_RECENT_CALLS: usize = 256;
const MAX_RECENT_BYTES: usize = 8 << 20;
/// Of parameters or a result that are longer nothing is kept.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// Whose calls are kept.
const OBSERVED_PRINCIPAL: &str = "local";

/// What a call said, and what came of it.
#[derive(Debug)]
pub struct RecentCall {
    /// The call.
    pub called: Arc<CallRecord>,
    /// Its parameters; `None` if they were too long to keep.
    pub params: Option<Box<str>>,
    /// What came of it.
    pub answer: RecentCallResult,
}

/// What came of a call.
#[derive(Debug, Default)]
pub enum RecentCallResult {
    /// Nothing that is an answer: it was given up, or goes on elsewhere.
    #[default]
    None,
    /// A result.
    Result(Box<str>),
    /// A result that was too long to keep.
    TooLong,
    /// An error.
    Error(Box<CallError>),
}

/// Calls are kept while this is held.
#[derive(Debug)]
pub struct CallWatcher(Arc<RecentCalls>);

/// The latest calls.
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

/// A call that is listened to, until it has ended.
#[derive(Debug, Default)]
pub(crate) struct CallObservation {
    params: Option<Box<str>>,
    pub(crate) answer: RecentCallResult,
}

// === impl Engine ===

impl Engine {
    /// Has what calls say kept from now on, while what is returned is held.
    pub fn watch_calls(&self) -> CallWatcher {
        self.0.recent.looking.fetch_add(1, Ordering::Relaxed);
        CallWatcher(Arc::clone(&self.0.recent))
    }

    /// The call of this number, if what it said is still kept.
    pub fn recent_call(&self, number: u64) -> Option<Arc<RecentCall>> {
        let kept = self.0.recent.lock();
        kept.calls.iter().find(|said| said.called.kept == Some(number)).cloned()
    }

    /// Every call of which it is kept what it said, oldest first.
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
    /// Begins to listen to a call, if anybody looks and it is theirs to see.
    pub(crate) fn observe(&self, principal: &str, params: &Raw) -> Option<Box<CallObservation>> {
        if self.looking.load(Ordering::Relaxed) == 0 || principal != OBSERVED_PRINCIPAL {
            return None;
        }
        Some(Box::new(CallObservation {
            params: copy_if_short(params),
            answer: RecentCallResult::None,
        }))
    }

    /// Keeps what was heard of a call that has ended.
    pub(crate) fn store(&self, mut called: CallRecord, heard: CallObservation) -> Arc<CallRecord> {
        let mut kept = self.lock();
        kept.last += 1;
        called.kept = Some(kept.last);
        let called = Arc::new(called);
        let CallObservation { params, answer } = heard;
        kept.push(RecentCall { called: Arc::clone(&called), params, answer });
        called
    }

    fn lock(&self) -> MutexGuard<'_, RecentCallBuffer> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A copy: what it is a part of may be much larger, and would be kept with it.
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
            who: Arc::new(CallerIdentity {
                workspace: "/app".into(),
                session: "s".to_owned(),
                client: String::new(),
                principal: OBSERVED_PRINCIPAL.to_owned(),
                transport: "socket",
            }),
            server: "kiosk".to_owned(),
            method: "tools/call".into(),
            name: String::new(),
            decision: None,
            ended: CallEnd::Result,
            took: Duration::ZERO,
            sent: 0,
            received: 0,
            kept: None,
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
            recent.store(called(), *heard).kept
        };
        for number in 1..=MAX_RECENT_CALLS as u64 + 2 {
            assert_eq!(keep(10), Some(number));
        }
        let kept = recent.lock();
        assert_eq!((kept.calls.len(), kept.bytes), (MAX_RECENT_CALLS, MAX_RECENT_CALLS * 20));
        assert_eq!(kept.calls[0].called.kept, Some(3), "the oldest make room");
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
