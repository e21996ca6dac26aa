//! The limits of the system (threads, descriptors) and the hub's share of these limits.
//!
//! Used by the hub and the program before they start threads or open many descriptors, so that a low limit is an
//! error that names it. It does not start threads or open descriptors.

use crate::HubError;

/// A hub with one server, its log, its socket and a client needs 30.
const MIN_HUB_DESCRIPTORS: u64 = 32;
/// Below this limit of processes threads are few: each is kept, since another may not be had.
const FEW_PROCESSES: u64 = 512;

/// A part of the descriptors that one kind of connection may take.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DescriptorShare {
    /// Clients of the network.
    Network,
    /// Clients of the hub's socket.
    Socket,
}

/// Fails where this limit is below the descriptors that a hub needs.
pub(crate) fn check_hub_descriptors(limit: u64) -> Result<(), HubError> {
    check_descriptors(MIN_HUB_DESCRIPTORS, limit)
}

/// Fails where fewer descriptors may be open than are needed.
pub fn check_descriptors(needed: u64, limit: u64) -> Result<(), HubError> {
    if limit < needed { Err(HubError::Descriptors { limit, needed }) } else { Ok(()) }
}

/// As many connections as usual, or as leave enough descriptors for servers and files.
pub(crate) fn fitting_connections(usual: usize, limit: u64, share: DescriptorShare) -> usize {
    let part = match share {
        DescriptorShare::Network => limit / 2,
        DescriptorShare::Socket => limit / 4,
    };
    usize::try_from(part).map_or(usual, |part| part.clamp(1, usual))
}

/// Whether the limit of processes is so low that the program has to save threads.
pub fn has_few_threads() -> bool {
    process_limit().is_some_and(|limit| limit < FEW_PROCESSES)
}

/// How many processes and threads this user may have; `None` where there is no limit.
#[cfg(not(target_os = "macos"))]
pub fn process_limit() -> Option<u64> {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

    let (soft, _) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
    (soft != RLIM_INFINITY).then_some(soft)
}

/// macOS does not count threads under its limit of processes.
#[cfg(target_os = "macos")]
pub fn process_limit() -> Option<u64> {
    None
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
        let error = check_hub_descriptors(20).unwrap_err();
        assert!(error.to_string().contains("20"), "{error}");
    }
}
