//! Limits of the system (`ulimit`) on threads and descriptors, and the share that this program takes.
//!
//! Used by `main` before the runtime starts, by `served_workspace`, and by the hub and `access` for the number of
//! connections. A low limit is an error that names the limit, never a panic. It does not limit memory.

use nix::sys::resource::{Resource, getrlimit};
use switchboard_process::raise_descriptor_limit;
use tokio::runtime::{Builder, Runtime};

use crate::report::{Failure, FailureKind};

/// Descriptors of the runtime, signals and standard streams, before a command has done anything.
const MIN_DESCRIPTORS: u64 = 16;
/// A hub with one server, its log, its socket and a client needs 30.
const MIN_HUB_DESCRIPTORS: u64 = 32;
/// Below this limit of processes every started thread is kept, since a new one may be refused.
const FEW_PROCESSES: u64 = 512;
/// How long a kept thread waits for work.
const KEPT_THREAD: std::time::Duration = std::time::Duration::from_hours(24 * 365);
/// The number of blocking threads under a low limit.
const FEW_BLOCKING_THREADS: usize = 4;

/// The kind of connection that descriptors are shared out to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DescriptorShare {
    /// Clients of the network.
    Network,
    /// Clients of the hub's socket.
    Socket,
}

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
            at_least(MIN_DESCRIPTORS, raise_descriptor_limit())
        }
        // A limit that cannot be read is ignored.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Fails if this limit is too low for a hub.
pub(crate) fn check_hub_descriptors(limit: u64) -> Result<(), Failure> {
    at_least(MIN_HUB_DESCRIPTORS, limit)
}

fn at_least(needed: u64, limit: u64) -> Result<(), Failure> {
    if limit >= needed {
        return Ok(());
    }
    let message =
        format!("this process may open {limit} files at once, and needs at least {needed}");
    Err(Failure::plain(FailureKind::Failed, message)
        .with_hint("raise the limit of open files, `ulimit -n`; 1024 is usual"))
}

/// The number of connections: the usual one, or fewer, so that servers and files have enough descriptors.
pub(crate) fn fitting_connections(usual: usize, limit: u64, share: DescriptorShare) -> usize {
    let part = match share {
        DescriptorShare::Network => limit / 2,
        DescriptorShare::Socket => limit / 4,
    };
    usize::try_from(part).map_or(usual, |part| part.clamp(1, usual))
}

/// Whether the limit of processes is low.
pub(crate) fn has_few_threads() -> bool {
    process_limit().is_some_and(|limit| limit < FEW_PROCESSES)
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

/// How many processes and threads this user may have; `None` where there is no limit.
fn process_limit() -> Option<u64> {
    let (soft, _) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
    (soft != nix::sys::resource::RLIM_INFINITY).then_some(soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_into_the_descriptors_there_are() {
        use DescriptorShare::{Network, Socket};
        for (usual, limit, share, fitting) in [
            (4096, 1_048_576, Network, 4096),
            (4096, 1024, Network, 512),
            (1024, 1024, Socket, 256),
            (1024, 32, Socket, 8),
            (1024, 2, Socket, 1),
            (1024, u64::MAX, Socket, 1024),
        ] {
            assert_eq!(fitting_connections(usual, limit, share), fitting, "{limit} {share:?}");
        }
    }

    #[test]
    fn a_hub_is_not_started_with_too_few_descriptors() {
        assert!(check_hub_descriptors(1024).is_ok() && check_hub_descriptors(32).is_ok());
        let failure = check_hub_descriptors(20).unwrap_err();
        assert!(failure.message().contains("20"), "{}", failure.message());
        assert!(failure.hint().is_some_and(|hint| hint.contains("ulimit -n")));
    }
}
