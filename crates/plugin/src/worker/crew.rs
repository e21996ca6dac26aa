//! The threads that answer: as many as there are calls at once, up to a limit.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Threads of a plugin that is thread-safe. The host sends no more calls at once.
pub(crate) const MOST: usize = 128;
/// Enough for what plugins do, and little of a worker's memory.
const STACK: usize = 1 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// Some threads, and what they have to do.
pub(super) struct Crew {
    most: usize,
    work: Mutex<Work>,
    more: Condvar,
}

#[derive(Default)]
struct Work {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
    ended: bool,
}

// === impl Crew ===

impl Crew {
    pub(super) fn new(most: usize) -> Self {
        let work = Work { threads: 1, ..Work::default() };
        Self { most, work: Mutex::new(work), more: Condvar::new() }
    }

    pub(super) fn add(self: &Arc<Self>, job: Job) {
        let mut work = self.locked();
        work.waiting.push_back(job);
        if work.idle < work.waiting.len() && work.threads < self.most {
            let crew = Arc::clone(self);
            let thread = std::thread::Builder::new().stack_size(STACK);
            // One fewer is no failure: the others get to it.
            if thread.spawn(move || crew.work()).is_ok() {
                work.threads += 1;
            }
        }
        let is_awaited = work.idle > 0;
        drop(work);
        // Waking nobody costs as much as waking somebody.
        if is_awaited {
            self.more.notify_one();
        }
    }

    /// Nothing more will come; what waits is not begun.
    pub(super) fn end(&self) {
        let mut work = self.locked();
        work.ended = true;
        work.waiting.clear();
        drop(work);
        self.more.notify_all();
    }

    /// Works until the end.
    pub(super) fn work(&self) {
        let mut work = self.locked();
        loop {
            if work.ended {
                return;
            }
            match work.waiting.pop_front() {
                Some(job) => {
                    drop(work);
                    job();
                    work = self.locked();
                }
                None => {
                    work.idle += 1;
                    work = self.more.wait(work).unwrap_or_else(PoisonError::into_inner);
                    work.idle -= 1;
                }
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
