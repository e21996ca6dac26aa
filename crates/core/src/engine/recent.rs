//! What the latest calls said and were answered, kept while somebody looks at them.
//!
//! In memory alone, so many calls and so many bytes and no more, and only of the user whose engine it is: whoever comes
//! over the network with a token of their own is nobody else's to read. While nobody looks, a call pays for one look at
//! a number.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_wire::json::Raw;

use super::Engine;
use crate::audit::Called;
use crate::dispatch::CallError;

/// The most calls that are kept, and the most bytes of them.
const CALLS: usize = 256;
const BYTES: usize = 8 << 20;
/// Of parameters or a result that are longer nothing is kept.
const LONGEST: usize = 256 << 10;
/// Whose calls are kept.
const OWN: &str = "local";

/// What a call said, and what came of it.
#[derive(Debug)]
pub struct Said {
    /// The call.
    pub called: Arc<Called>,
    /// Its parameters; `None` if they were too long to keep.
    pub params: Option<Box<str>>,
    /// What came of it.
    pub answer: Answer,
}

/// What came of a call.
#[derive(Debug, Default)]
pub enum Answer {
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
pub struct Looking(Arc<Recent>);

/// The latest calls.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    looking: AtomicUsize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    bytes: usize,
    calls: VecDeque<Arc<Said>>,
}

/// A call that is listened to, until it has ended.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    params: Option<Box<str>>,
    pub(crate) answer: Answer,
}

// === impl Engine ===

impl Engine {
    /// Has what calls say kept from now on, while what is returned is held.
    pub fn look_at_calls(&self) -> Looking {
        self.0.recent.looking.fetch_add(1, Ordering::Relaxed);
        Looking(Arc::clone(&self.0.recent))
    }

    /// The call of this number, if what it said is still kept.
    pub fn said(&self, number: u64) -> Option<Arc<Said>> {
        let kept = self.0.recent.lock();
        kept.calls.iter().find(|said| said.called.kept == Some(number)).cloned()
    }

    /// Every call of which it is kept what it said, oldest first.
    pub fn kept_calls(&self) -> Vec<Arc<Called>> {
        self.0.recent.lock().calls.iter().map(|said| Arc::clone(&said.called)).collect()
    }
}

// === impl Looking ===

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.looking.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Recent ===

impl Recent {
    /// Begins to listen to a call, if anybody looks and it is theirs to see.
    pub(crate) fn hear(&self, principal: &str, params: &Raw) -> Option<Box<Heard>> {
        if self.looking.load(Ordering::Relaxed) == 0 || principal != OWN {
            return None;
        }
        Some(Box::new(Heard { params: short(params), answer: Answer::None }))
    }

    /// Keeps what was heard of a call that has ended.
    pub(crate) fn keep(&self, mut called: Called, heard: Heard) -> Arc<Called> {
        let mut kept = self.lock();
        kept.last += 1;
        called.kept = Some(kept.last);
        let called = Arc::new(called);
        let Heard { params, answer } = heard;
        kept.push(Said { called: Arc::clone(&called), params, answer });
        called
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Kept ===

impl Kept {
    fn push(&mut self, said: Said) {
        self.bytes += said.bytes();
        self.calls.push_back(Arc::new(said));
        while self.calls.len() > CALLS || self.bytes > BYTES {
            let Some(oldest) = self.calls.pop_front() else { return };
            self.bytes -= oldest.bytes();
        }
    }
}

// === impl Said ===

impl Said {
    fn bytes(&self) -> usize {
        let answer = match &self.answer {
            Answer::Result(result) => result.len(),
            Answer::None | Answer::TooLong | Answer::Error(_) => 0,
        };
        answer + self.params.as_ref().map_or(0, |params| params.len())
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn result(result: &Raw) -> Self {
        short(result).map_or(Self::TooLong, Self::Result)
    }
}

/// A copy: what it is a part of may be much larger, and would be kept with it.
fn short(raw: &Raw) -> Option<Box<str>> {
    (raw.as_str().len() <= LONGEST).then(|| raw.as_str().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Ended, Who};
    use std::time::{Duration, SystemTime};

    fn called() -> Called {
        Called {
            at: SystemTime::UNIX_EPOCH,
            who: Arc::new(Who {
                workspace: "/app".into(),
                session: "s".to_owned(),
                client: String::new(),
                principal: OWN.to_owned(),
                transport: "socket",
            }),
            server: "kiosk".to_owned(),
            method: "tools/call".into(),
            name: String::new(),
            decision: None,
            ended: Ended::Result,
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
        let recent = Arc::new(Recent::default());
        assert!(recent.hear(OWN, &text(2)).is_none(), "nobody looks");
        recent.looking.fetch_add(1, Ordering::Relaxed);
        let looking = Looking(Arc::clone(&recent));
        assert!(recent.hear("ann", &text(2)).is_none(), "a call of somebody else");
        assert!(recent.hear(OWN, &text(2)).is_some());
        drop(looking);
        assert!(recent.hear(OWN, &text(2)).is_none(), "whoever looked is gone");
    }

    #[test]
    fn so_many_calls_and_bytes_are_kept_and_no_more() {
        let recent = Recent::default();
        recent.looking.fetch_add(1, Ordering::Relaxed);
        let keep = |length| {
            let mut heard = recent.hear(OWN, &text(length)).unwrap();
            heard.answer = Answer::result(&text(length));
            recent.keep(called(), *heard).kept
        };
        for number in 1..=CALLS as u64 + 2 {
            assert_eq!(keep(10), Some(number));
        }
        let kept = recent.lock();
        assert_eq!((kept.calls.len(), kept.bytes), (CALLS, CALLS * 20));
        assert_eq!(kept.calls[0].called.kept, Some(3), "the oldest make room");
        drop(kept);
        for _ in 0..CALLS {
            keep(LONGEST);
        }
        let kept = recent.lock();
        assert_eq!((kept.calls.len(), kept.bytes), (BYTES / LONGEST / 2, BYTES));
        drop(kept);
        keep(LONGEST + 1);
        let kept = recent.lock();
        let last = kept.calls.back().unwrap();
        assert!(last.params.is_none() && matches!(last.answer, Answer::TooLong));
    }
}
