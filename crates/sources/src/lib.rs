//! Configuration sources: which servers are desired, kept current while files change.
//!
//! Used by `cli` (commands and the hub's workspaces) and `hub`. [`Sources`] loads the configuration of one
//! workspace, fetches the organisation's connector catalog, watches every file that was read, and publishes a
//! whole new [`DesiredSnapshot`] when their content has changed. It starts no server and knows no client.
//!
//! # When a file changes
//!
//! Every file counts, whether it exists or not yet: the folders above it are watched too, and links are
//! followed at each step. A burst of changes is waited out (100 ms of quiet, 1 s at most), then everything is
//! read again. The state is *built whole*, compared by content, and published only if the content differs; a
//! file that was touched, or replaced by equal text, publishes nothing. A file that was just emptied gets a
//! second to be filled, because some programs write in two steps.
//!
//! If the operating system cannot watch, files are read once a second instead, and [`SourceProblem::Polling`]
//! says so. Even if it can, they are read twice a minute: not every file system reports changes made
//! elsewhere.
//!
//! # When an edit breaks a file
//!
//! A file is *broken* if it exists, cannot be read or parsed, and was sound in the last good state. Until it
//! is repaired or deleted:
//!
//! 1. As long as no other file changes, the last good state stays in force unchanged, with the problem beside
//!    it.
//! 2. As soon as another file changes, a broken file must not block a removal in the other files, and its own
//!    content cannot be evaluated again. So the present state takes over, *narrowed* by the last good one: a
//!    server is ready only if it is ready in both, with an equal entry; deny and ask rules of both count,
//!    allow rules only if they stand in both; the stricter mode counts. Servers of the broken file itself are
//!    shown as waiting for it, new and changed servers likewise. So a rejection, a deny rule or a withdrawn
//!    approval takes effect at once whatever else is broken, and a deny rule in the broken file is not lost
//!    by breaking it. If all broken files are `.mcp.json` files, which hold servers and no rules, only those
//!    servers wait, and any server with their names.
//!
//! So breaking a file can only take away: no server becomes ready, and no call is allowed, that the file
//! might have refused. Files of the administrator and the record of approvals are never held: their changes
//! take effect at once, and an unreadable one fails closed, as `switchboard-config` says. A file that now
//! belongs to another user is not broken; it is ignored.
//!
//! # The connector catalog
//!
//! `connectors.url` is fetched with the bearer token that `connectors.tokenHelper` prints, once an hour and
//! when these settings change, and cached in user state for when fetching fails. Only the user's and the
//! administrator's settings can name either. A failure is a [`SourceProblem`] beside everything else. Nothing
//! is fetched, and no helper runs, if no server of the catalog could be used: under an administrator's
//! exclusive file, under a policy that failed closed, and with `--strict-mcp-config`.

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
pub use workspace::{PluginHost, SyncedWorkspace, WorkspaceExtras, process_environment};
