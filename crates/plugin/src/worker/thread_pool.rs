//! The threads of a worker that run calls: started when a call finds no idle thread, up to a limit.
//!
//! Used by `worker::serving`. The thread that loaded the plugin is the pool's first thread, and the only one
//! for a plugin that is not thread-safe. The pool does not know its jobs.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Threads for a thread-safe plugin. The host sends no more calls at once.
pub(crate) const MAX_THREADS: usize = 128;
/// Enough for the functions of plugins, and little of a worker's memory.
const STACK_BYTES: usize = 1 << 20;

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// Threads, and the jobs that wait for a thread.
pub(super) struct ThreadPool {
    max_threads: usize,
    state: Mutex<PoolState>,
    /// Notified when a job is added or the pool is closed.
    changed: Condvar,
}

struct PoolState {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

// === impl ThreadPool ===

impl ThreadPool {
    /// A pool whose first thread is the one that calls [`Self::run`].
    pub(super) fn new(max_threads: usize) -> Arc<Self> {
        let state = PoolState { jobs: VecDeque::new(), threads: 1, idle: 0, is_closed: false };
        Arc::new(Self { max_threads, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Gives a job to an idle thread, to a new one, or to the first that has finished its job.
    pub(super) fn submit(self: &Arc<Self>, job: Job) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() {
            self.changed.notify_one();
        } else if state.threads < self.max_threads {
            let pool = Arc::clone(self);
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            // If the system has no thread left, the job waits for a thread of the pool.
            if thread.spawn(move || pool.run()).is_ok() {
                state.threads += 1;
            }
        }
    }

    /// Runs jobs in the calling thread until the pool is closed.
    pub(super) fn run(&self) {
        let mut state = self.lock();
        while !state.is_closed {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.lock();
            } else {
                state.idle += 1;
                self.changed.wait(&mut state);
                state.idle -= 1;
            }
        }
    }

    /// Ends the pool: running jobs finish, waiting ones are dropped.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.jobs.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};
    use std::time::Duration;

    use super::*;

    /// Longer than any machine takes.
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Runs a test with a pool, then checks that its first thread ends.
    fn with_pool(max_threads: usize, test: impl FnOnce(&Arc<ThreadPool>)) {
        let pool = ThreadPool::new(max_threads);
        let (over, ended) = mpsc::sync_channel(1);
        let first = Arc::clone(&pool);
        std::thread::spawn(move || {
            first.run();
            over.send(()).unwrap();
        });
        test(&pool);
        pool.close();
        ended.recv_timeout(TIMEOUT).expect("the pool does not end");
    }

    #[test]
    fn jobs_that_wait_for_one_another_run_at_once() {
        with_pool(8, |pool| {
            for _ in 0..3 {
                let together = Arc::new(Barrier::new(8));
                let (done, all) = mpsc::sync_channel(8);
                for _ in 0..8 {
                    let (together, done) = (together.clone(), done.clone());
                    pool.submit(Box::new(move || {
                        together.wait();
                        done.send(()).unwrap();
                    }));
                }
                for _ in 0..8 {
                    all.recv_timeout(TIMEOUT).expect("a job that never began");
                }
            }
        });
    }

    #[test]
    fn one_thread_runs_jobs_in_order() {
        with_pool(1, |pool| {
            let (done, order) = mpsc::sync_channel(20);
            for number in 0..20 {
                let done = done.clone();
                let job = move || done.send((number, std::thread::current().id())).unwrap();
                pool.submit(Box::new(job));
            }
            let ran: Vec<_> = (0..20).map(|_| order.recv_timeout(TIMEOUT).unwrap()).collect();
            assert!(ran.iter().map(|(number, _)| *number).eq(0..20));
            assert!(ran.iter().all(|(_, thread)| *thread == ran[0].1), "a second thread");
        });
    }

    #[test]
    fn a_closed_pool_drops_waiting_jobs() {
        let (release, wait) = mpsc::sync_channel(1);
        let (began, has_begun) = mpsc::sync_channel(1);
        let (done, ran) = mpsc::sync_channel::<()>(1);
        with_pool(1, |pool| {
            pool.submit(Box::new(move || {
                began.send(()).unwrap();
                wait.recv_timeout(TIMEOUT).unwrap();
            }));
            has_begun.recv_timeout(TIMEOUT).unwrap();
            pool.submit(Box::new(move || done.send(()).unwrap()));
            pool.close();
            release.send(()).unwrap();
        });
        assert!(ran.recv_timeout(TIMEOUT).is_err(), "a waiting job ran after the end");
    }
}
