//! The runtime of a command: how many threads carry out calls, and the memory arena of each thread.
//!
//! Used by `main`. It does not read settings itself (`surroundings` does). Under a low limit of processes `limits` makes
//! the runtime.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, available_parallelism},
};

use tikv_jemalloc_ctl::{Access as _, AsName as _};
use tokio::runtime::Builder;

use crate::{
    args::{Command, Global},
    limits, surroundings,
};

/// I/O events that a relay with one thread takes per tick. With fewer, a server gets its request sooner while the relay
/// goes on; with more, there are fewer system calls. With 16 clients at once, 2 gives a fifth more calls than taking all
/// events first.
const EVENTS_PER_TICK: usize = 2;
/// The most threads by default. The rest of a large machine is for the servers, which are processes of their own.
const MAX_DEFAULT_THREADS: usize = 8;
/// The most threads.
pub(crate) const MAX_THREADS: u16 = 64;
/// The prefix of the names of the threads that carry out calls.
const CALL_THREAD_PREFIX: &str = "calls-";

/// The runtime for a command.
///
/// A relay with one thread runs on the main thread alone: a call is short and mostly waits for other processes, and waking
/// a second thread costs more than that thread saves. More threads pay where the cost of a call is in the gateway.
pub(crate) fn builder(command: &Command, global: &Global) -> Builder {
    if let Some(builder) = limits::runtime_of_few_threads() {
        return builder;
    }
    match call_threads(command, global) {
        Some(1) => {
            let mut builder = Builder::new_current_thread();
            builder.max_io_events_per_tick(EVENTS_PER_TICK);
            builder
        }
        Some(threads) => relay_with_threads(threads),
        None => {
            // A command that asks a person blocks on the terminal, so a second thread goes on meanwhile.
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1);
            builder
        }
    }
}

/// The number of threads that carry out calls; `None` for a command that asks a person.
fn call_threads(command: &Command, global: &Global) -> Option<usize> {
    let flag = match command {
        Command::Serve(serve) => serve.threads,
        Command::Hub(hub) => hub.threads,
        // One client alone.
        command if command.is_relay() => return Some(1),
        _ => return None,
    };
    let setting = || surroundings::owned_limits(global)?.threads;
    let threads = flag.map(u64::from).or_else(setting).map(|threads| {
        usize::try_from(threads).unwrap_or(usize::MAX).clamp(1, usize::from(MAX_THREADS))
    });
    Some(threads.unwrap_or_else(|| default_threads(available_parallelism())))
}

/// Half the processors: one on two, two on four, eight on sixteen and more. The other half is for servers.
fn default_threads(processors: std::io::Result<NonZeroUsize>) -> usize {
    processors.map_or(1, |processors| (processors.get() / 2).clamp(1, MAX_DEFAULT_THREADS))
}

/// A relay with several threads that carry out calls, each of which but the first has an arena of its own.
fn relay_with_threads(threads: usize) -> Builder {
    let started = Arc::new(AtomicUsize::new(0));
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads)
        // The runtime starts these threads before all others.
        .thread_name_fn(move || match started.fetch_add(1, Ordering::Relaxed) {
            number if number < threads => format!("{CALL_THREAD_PREFIX}{number}"),
            _ => "blocking".to_owned(),
        })
        .on_thread_start(|| {
            let number = thread::current()
                .name()
                .and_then(|name| name.strip_prefix(CALL_THREAD_PREFIX)?.parse::<usize>().ok());
            if number.is_some_and(|number| number > 0)
                && let Err(error) = take_own_arena()
            {
                // It shares the arena of the others, which is slower and no less right.
                tracing::warn!(%error, "a thread has no arena of its own");
            }
        });
    builder
}

/// Makes the calling thread allocate from an arena that no other thread allocates from. The program is built with one
/// arena (`narenas:1` in `.cargo/config.toml`), so that a program with one thread keeps no memory for others.
fn take_own_arena() -> Result<(), tikv_jemalloc_ctl::Error> {
    let arena: u32 = "arenas.create\0".name().read()?;
    "thread.arena\0".name().write(arena)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Barrier, mpsc};

    use super::*;

    fn arenas() -> u32 {
        "arenas.narenas\0".name().read().unwrap()
    }

    #[test]
    fn half_the_processors_carry_out_calls() {
        for (processors, threads) in
            [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3), (8, 4), (16, 8), (17, 8), (128, 8)]
        {
            assert_eq!(default_threads(Ok(NonZeroUsize::new(processors).unwrap())), threads);
        }
        assert_eq!(default_threads(Err(std::io::ErrorKind::Unsupported.into())), 1);
    }

    /// There are as many arenas as threads that carry out calls; threads for blocking work add none.
    #[test]
    fn each_thread_but_the_first_has_an_arena_of_its_own() {
        let before = arenas();
        let runtime = relay_with_threads(4).enable_all().build().unwrap();
        let (seen, all) = mpsc::sync_channel(4);
        let together = Arc::new(Barrier::new(4));
        for _ in 0..4 {
            let (seen, together) = (seen.clone(), Arc::clone(&together));
            runtime.spawn(async move {
                // Each waits for the others, so no thread runs two of them.
                together.wait();
                let arena: u32 = "thread.arena\0".name().read().unwrap();
                seen.send((thread::current().name().unwrap().to_owned(), arena)).unwrap();
            });
        }
        let seen: Vec<_> = all.iter().take(4).collect();
        let names: BTreeSet<_> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, BTreeSet::from(["calls-0", "calls-1", "calls-2", "calls-3"]));
        let own: BTreeSet<_> = seen.iter().map(|(_, arena)| *arena).collect();
        assert_eq!(own.len(), 4, "{seen:?}");
        assert!(seen.contains(&("calls-0".to_owned(), 0)), "{seen:?}");
        let blocking = runtime.spawn_blocking(|| {
            let arena: u32 = "thread.arena\0".name().read().unwrap();
            (thread::current().name().unwrap().to_owned(), arena)
        });
        assert_eq!(runtime.block_on(blocking).unwrap(), ("blocking".to_owned(), 0));
        assert_eq!(arenas(), before + 3);
    }
}
