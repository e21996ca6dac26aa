//! The threads that answer: as many as there are calls at once, up to a limit.
//!
//! A thread with nothing to do reads what comes next, and does it itself: waking another takes longer than most calls.
//! Nobody reads meanwhile, unless more has come already. One more thread looks after that. It reads for as long as calls
//! that last keep the others from it, so nothing waits for another call longer than two looks.

use std::{
    collections::VecDeque,
    num::NonZero,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Threads of a plugin that is thread-safe. The host sends no more calls at once.
pub(crate) const MOST: usize = 128;
/// Enough for what plugins do, and little of a worker's memory.
const STACK: usize = 1 << 20;
/// How often it is looked whether anybody reads, while calls come.
const LOOK: Duration = Duration::from_millis(1);
/// After so many looks that found somebody, nobody looks until the next call.
const LOOKS: usize = 4;

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Where jobs come from. One thread at a time asks.
pub(super) trait Source: Send + Sync + 'static {
    /// Waits for the next; `None` once there are no more.
    fn next(&self) -> Option<Job>;

    /// Whether something has come already.
    fn has_more(&self) -> bool;
}

/// Some threads, and what they have to do.
pub(super) struct Crew<S> {
    most: usize,
    processors: usize,
    source: S,
    work: Mutex<Work>,
    more: Condvar,
    /// For the one that looks.
    look: Condvar,
}

type Locked<'a> = MutexGuard<'a, Work>;

#[derive(Default)]
struct Work {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Somebody waits for what comes.
    is_read: bool,
    /// How often somebody stopped reading.
    stopped: u64,
    /// Somebody looks whether anybody reads.
    is_watched: bool,
    ended: bool,
}

// === impl Crew ===

impl<S: Source> Crew<S> {
    pub(super) fn new(most: usize, source: S) -> Self {
        Self {
            most,
            processors: std::thread::available_parallelism().map_or(1, NonZero::get),
            source,
            work: Mutex::new(Work { threads: 1, ..Work::default() }),
            more: Condvar::new(),
            look: Condvar::new(),
        }
    }

    /// Works until the end.
    pub(super) fn work(self: &Arc<Self>) {
        let mut work = self.locked();
        while !work.ended {
            if let Some(job) = work.waiting.pop_front() {
                work = self.run(work, job);
            } else if work.is_read {
                work.idle += 1;
                work = self.more.wait(work).unwrap_or_else(PoisonError::into_inner);
                work.idle -= 1;
            } else {
                work = self.read(work);
                // What has come already is for others too, as long as there is a processor for them.
                if work.threads - work.idle < self.processors && self.source.has_more() {
                    self.call(&mut work);
                }
            }
        }
    }

    /// Does a job, watched over if nobody reads.
    fn run<'a>(&'a self, mut work: Locked<'a>, job: Job) -> Locked<'a> {
        if !work.is_read {
            work.stopped += 1;
            if !std::mem::replace(&mut work.is_watched, true) {
                self.look.notify_one();
            }
        }
        drop(work);
        job();
        self.locked()
    }

    /// Waits for a job; without one all is over, and what waits is not begun.
    fn read<'a>(&'a self, mut work: Locked<'a>) -> Locked<'a> {
        work.is_read = true;
        drop(work);
        let job = self.source.next();
        let mut work = self.locked();
        work.is_read = false;
        if let Some(job) = job {
            work.waiting.push_back(job);
        } else {
            work.ended = true;
            work.waiting.clear();
            self.more.notify_all();
            self.look.notify_all();
        }
        work
    }

    /// Calls another thread.
    fn call(self: &Arc<Self>, work: &mut Work) {
        if work.idle > 0 {
            self.more.notify_one();
        } else if work.threads < self.most {
            let crew = Arc::clone(self);
            let thread = std::thread::Builder::new().stack_size(STACK);
            // One fewer is no failure: the others get to it.
            if thread.spawn(move || crew.work()).is_ok() {
                work.threads += 1;
            }
        }
    }

    /// Sees to it, in a thread of its own, that somebody reads.
    pub(super) fn watch(self: &Arc<Self>) {
        let mut work = self.locked();
        let (mut stopped, mut found) = (work.stopped, 0);
        while !work.ended {
            if found == LOOKS {
                (work.is_watched, found) = (false, 0);
            }
            work = if work.is_watched {
                let looked = self.look.wait_timeout(work, LOOK);
                looked.unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.look.wait(work).unwrap_or_else(PoisonError::into_inner)
            };
            let is_same = std::mem::replace(&mut stopped, work.stopped) == stopped;
            found = if is_same && work.is_read { found + 1 } else { 0 };
            if is_same && !work.is_read && work.is_watched {
                work = self.relieve(work);
            }
        }
    }

    /// Reads until somebody else has nothing better to do.
    fn relieve<'a>(self: &'a Arc<Self>, mut work: Locked<'a>) -> Locked<'a> {
        loop {
            work = self.read(work);
            if work.ended {
                return work;
            }
            let is_awaited = work.idle > 0;
            self.call(&mut work);
            if is_awaited {
                return work;
            }
        }
    }

    fn locked(&self) -> Locked<'_> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};

    use super::*;

    /// Longer than any machine takes.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// What is done when it is read, and what is to be done then.
    type Message = Box<dyn FnOnce() -> Option<Job> + Send>;

    /// What a test says.
    struct Said(Mutex<mpsc::Receiver<Message>>);

    impl Source for Said {
        fn next(&self) -> Option<Job> {
            let said = self.0.lock().unwrap();
            loop {
                if let Some(job) = said.recv().ok()?() {
                    return Some(job);
                }
            }
        }

        fn has_more(&self) -> bool {
            false
        }
    }

    /// Says something to as many threads as are wanted; then looks whether they all end.
    fn with_crew(most: usize, test: impl FnOnce(&mpsc::Sender<Message>)) {
        let (says, said) = mpsc::channel();
        let crew = Arc::new(Crew::new(most, Said(Mutex::new(said))));
        let (over, ended) = mpsc::channel();
        let (watching, watched) = (crew.clone(), over.clone());
        std::thread::spawn(move || {
            watching.watch();
            watched.send(()).unwrap();
        });
        std::thread::spawn(move || {
            crew.work();
            over.send(()).unwrap();
        });
        test(&says);
        drop(says);
        for _ in 0..2 {
            ended.recv_timeout(PATIENCE).expect("a thread that does not end");
        }
    }

    #[test]
    fn calls_that_wait_for_one_another_run_at_once() {
        with_crew(8, |says| {
            for _ in 0..3 {
                let together = Arc::new(Barrier::new(8));
                let (done, all) = mpsc::channel();
                for _ in 0..8 {
                    let (together, done) = (together.clone(), done.clone());
                    let job = move || {
                        together.wait();
                        done.send(()).unwrap();
                    };
                    says.send(Box::new(move || Some(Box::new(job)))).unwrap();
                }
                for _ in 0..8 {
                    all.recv_timeout(PATIENCE).expect("a call that never began");
                }
            }
        });
    }

    /// One thread answers, and what comes is read all the same: a cancellation, or the answer to what a call asks.
    #[test]
    fn a_call_that_lasts_keeps_nobody_from_reading() {
        with_crew(1, |says| {
            for _ in 0..3 {
                let (answer, answered) = mpsc::channel();
                let (done, order) = mpsc::channel();
                let (first, second) = (done.clone(), done);
                let asks = move || {
                    answered.recv_timeout(PATIENCE).expect("nobody reads the answer");
                    first.send("asks").unwrap();
                };
                says.send(Box::new(move || Some(Box::new(asks)))).unwrap();
                let waits = move || second.send("waits").unwrap();
                says.send(Box::new(move || Some(Box::new(waits)))).unwrap();
                says.send(Box::new(move || answer.send(()).map(|()| None).unwrap())).unwrap();
                for expected in ["asks", "waits"] {
                    assert_eq!(order.recv_timeout(PATIENCE), Ok(expected));
                }
            }
        });
    }
}
