//! Checks of the system's limits: whether this process may have the threads and descriptors that the runtime needs.
//!
//! Used by `main` before it builds the runtime, so that a low limit is an error that names it, never a panic. It does
//! not change any limit; the hub's share of them is in `hub::limits`.

use nix::sys::resource::{Resource, getrlimit};
use switchboard_hub::limits::{self, has_few_threads, process_limit};
use switchboard_process::raise_descriptor_limit;
use tokio::runtime::{Builder, Runtime};

use crate::report::Failure;

/// Descriptors of the runtime, signals and standard streams, before a command has done anything.
const MIN_DESCRIPTORS: u64 = 16;
/// How long a kept thread waits for work.
const KEPT_THREAD: std::time::Duration = std::time::Duration::from_hours(24 * 365);
/// The number of blocking threads under a low limit.
const FEW_BLOCKING_THREADS: usize = 4;

/// Fails if no thread can be started: the runtime would panic later.
pub(crate) fn check_threads() -> Result<(), Failure> {
    let started = std::thread::Builder::new().name("probe".to_owned()).spawn(|| {});
    let error = match started {
        Ok(thread) => {
            // The thread does nothing that could panic.
            let _ = thread.join();
            return Ok(());
        }
        Err(error) => error,
    };
    Err(no_thread(error))
}

fn no_thread(error: std::io::Error) -> Failure {
    let limit = process_limit().map_or_else(String::new, |limit| format!(" (now {limit})"));
    Failure::new("cannot start a thread", error)
        .with_hint(format!("raise the limit of your processes, `ulimit -u`{limit}"))
}

/// Fails if the runtime could not open its descriptors: it would panic.
pub(crate) fn check_descriptors() -> Result<(), Failure> {
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, _)) if soft < MIN_DESCRIPTORS => {
            Ok(limits::check_descriptors(MIN_DESCRIPTORS, raise_descriptor_limit())?)
        }
        // A limit that cannot be read is ignored.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A runtime with few threads, under a low limit of processes; `None` otherwise.
pub(crate) fn runtime_of_few_threads() -> Option<Builder> {
    if !has_few_threads() {
        return None;
    }
    let mut builder = Builder::new_current_thread();
    builder.max_blocking_threads(FEW_BLOCKING_THREADS).thread_keep_alive(KEPT_THREAD);
    Some(builder)
}

/// Starts the runtime's first blocking thread. The runtime panics if it has none and cannot start one; with one, which
/// it keeps, blocking work waits for that thread.
pub(crate) fn start_blocking_thread(runtime: &Runtime) -> Result<(), Failure> {
    if !has_few_threads() {
        return Ok(());
    }
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let started = std::panic::catch_unwind(|| runtime.spawn_blocking(|| {}));
    std::panic::set_hook(hook);
    started.map(drop).map_err(|_| no_thread(std::io::Error::from(std::io::ErrorKind::WouldBlock)))
}
