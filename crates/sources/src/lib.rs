//! Sources: which servers are desired, kept current.
//!
//! [`Sources`] loads the configuration of one workspace, fetches the organisation's catalogue, watches every file that
//! was looked at, and hands over a whole new [`DesiredSnapshot`] when what they say has changed. It starts no server and
//! knows none.
//!
//! # When a file changes
//!
//! Every file counts, there or not yet: folders above it are watched too, and links are followed on each step. A burst
//! of changes is waited out (100 ms of quiet, 1 s at most), then everything is read again. The state is *built whole*,
//! compared by the content of what was read, and handed over only where that differs; a file that was touched, or
//! replaced by the same text, hands over nothing. A file that was just emptied gets a second to be filled, for some
//! programs write in two steps.
//!
//! Where the system cannot watch, files are looked at once a second instead, and [`SourceProblem::Polling`] says so. Even
//! where it can, they are looked at twice a minute: not every file system tells of changes made elsewhere.
//!
//! # When an edit breaks a file
//!
//! A file is *broken* when it exists and cannot be read or parsed, and was sound in the last good state. Until it is
//! repaired or deleted:
//!
//! 1. As long as nothing else changes, the last good state stays in force as it is, the problem beside it.
//! 2. As soon as anything else changes, a broken file must not keep out what the others take away, and what stood in it
//!    cannot be judged again. So the present state takes over, *narrowed* by the last good one: a server is ready only
//!    if it is ready in both, with the same entry; deny and ask rules of both count, allow rules only if they stand in
//!    both; the stricter mode counts. Servers of the broken file itself are shown as waiting for it, new and changed
//!    servers likewise. So a rejection, a deny rule or a withdrawn approval takes effect at once whatever else is
//!    broken, and a deny rule in the broken file is not lost by breaking it.
//!    Where all broken files are `.mcp.json`s, which hold servers and no rules, only those servers wait,
//!    and whatever has their names.
//!
//! So breaking a file can only take away: nothing becomes ready, and no call is allowed, that it might have refused. The
//! administrator's files and the record of approvals are never held: what they become counts at once, and what cannot
//! be read of them fails closed, as `switchboard-config` says. A file that now belongs to another user is not broken,
//! it is somebody else's, and no longer counts.
//!
//! # The catalogue
//!
//! `connectors.url` is fetched with the bearer that `connectors.tokenHelper` prints, once an hour and when these
//! settings change, and kept in user state for when it cannot be had. Only the user's and the administrator's settings
//! can name either. What fails is a [`SourceProblem`] beside everything else. Nothing is fetched, and no helper run, where
//! the catalogue could not count: under an administrator's exclusive file, under a policy that failed closed, and
//! with `--strict-mcp-config`.

#![cfg(unix)]

mod broken_files;
mod build;
mod connectors;
mod files;
mod options;
mod problem;
mod snapshot;
mod sources;
mod task;
mod workspace;

pub use connectors::{
    ConnectorCredentials, ConnectorsError, FetchedConfig, ResolvedConfig, TokenHelperFault,
    resolve_with_cached_catalog, resolve_with_fetched_catalog,
};
pub use options::{SourcesOptions, SourcesTiming, WatchMode};
pub use problem::SourceProblem;
pub use snapshot::DesiredSnapshot;
pub use sources::Sources;
pub use workspace::{PluginHost, SyncedWorkspace, WorkspaceExtras};
