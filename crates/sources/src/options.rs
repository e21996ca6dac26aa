//! The options of [`Sources`](crate::Sources): process guard, connection pool, watch mode and timing.
//!
//! Used by `hub::served_workspace` and `hub::agents`. They are not settings of the user
//! (`switchboard_config`).

use std::path::PathBuf;
use std::time::Duration;

use switchboard_config::{Desired, HostContext, ResolveOptions};
use switchboard_core::ide;
use switchboard_process::ProcessGuard;
use switchboard_wire::http::HttpPool;

/// How sources are loaded and watched.
#[derive(Clone, Debug)]
pub struct SourcesOptions {
    /// The guard that the token helper runs under.
    pub guard: ProcessGuard,
    /// The hub's connection pool; without one, a pool is created for the first fetch.
    pub pool: Option<HttpPool>,
    /// How changes are noticed.
    pub watching: WatchMode,
    /// Files that the configuration is known to be read from. Without them the first read only finds out which files to
    /// look at, and is repeated.
    pub(crate) known_files: Vec<PathBuf>,
    /// Timeouts and intervals.
    pub timing: SourcesTiming,
}

/// How changes are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// By events of the operating system; by polling if the system cannot watch.
    #[default]
    System,
    /// By polling only.
    Polling,
}

/// The timeouts and intervals of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcesTiming {
    /// The quiet that ends a burst of changes (100 ms).
    pub quiet: Duration,
    /// The longest that a burst is waited out (1 s).
    pub burst: Duration,
    /// How long a file that was emptied may take to be filled (1 s).
    pub emptied: Duration,
    /// The polling interval if the operating system cannot watch (1 s).
    pub poll: Duration,
    /// The polling interval if the operating system can watch (30 s).
    pub look: Duration,
    /// How long the token helper may run (10 s).
    pub helper: Duration,
    /// How long fetching the connector catalog may take in all (60 s).
    pub fetch: Duration,
    /// How often the connector catalog is fetched, plus or minus a tenth (1 h).
    pub refresh: Duration,
    /// The pause after a failed fetch; doubled each time, up to `refresh` (1 min).
    pub retry: Duration,
}

// === impl SourcesOptions ===

impl SourcesOptions {
    /// The default options, with the helper under `guard`.
    pub fn new(guard: ProcessGuard) -> Self {
        Self {
            guard,
            pool: None,
            watching: WatchMode::default(),
            known_files: Vec::new(),
            timing: SourcesTiming::default(),
        }
    }

    /// Adds the files of a workspace whose configuration was resolved to `desired` just now.
    #[must_use]
    pub fn with_known_files(
        mut self,
        mut desired: Desired,
        surroundings: &HostContext,
        asked: &ResolveOptions,
    ) -> Self {
        // Problems of editors' files are found again, and reported, when the sources read them.
        let _ = ide::add_editor(&mut desired, surroundings, asked);
        self.known_files = desired.watched;
        self
    }
}

// === impl SourcesTiming ===

impl Default for SourcesTiming {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            burst: Duration::from_secs(1),
            emptied: Duration::from_secs(1),
            poll: Duration::from_secs(1),
            look: Duration::from_secs(30),
            helper: Duration::from_secs(10),
            fetch: Duration::from_secs(60),
            refresh: Duration::from_secs(3600),
            retry: Duration::from_secs(60),
        }
    }
}
