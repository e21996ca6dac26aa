//! What the program that runs the hub may choose.

use std::path::PathBuf;
use std::time::Duration;

use switchboard_config::{Desired, HostContext, ResolveOptions};
use switchboard_core::ide;
use switchboard_process::ProcessGuard;
use switchboard_wire::http::HttpPool;

/// How sources are kept.
#[derive(Clone, Debug)]
pub struct SourcesOptions {
    /// What the token helper runs under.
    pub guard: ProcessGuard,
    /// The hub's connections; without one a pool is made when a catalogue is fetched first.
    pub pool: Option<HttpPool>,
    /// How changes are noticed.
    pub watching: WatchMode,
    /// Files that the configuration is known to be read from. Without them the first read only finds out which files to
    /// look at, and is repeated.
    pub(crate) known_files: Vec<PathBuf>,
    /// How long everything may take.
    pub timing: SourcesTiming,
}

/// How changes are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// The system tells; where it cannot, by looking.
    #[default]
    System,
    /// By looking.
    Polling,
}

/// How long everything may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcesTiming {
    /// The quiet that ends a burst of changes (100 ms).
    pub quiet: Duration,
    /// How long a burst is waited out at most (1 s).
    pub burst: Duration,
    /// How long a file that was emptied is given to be filled (1 s).
    pub emptied: Duration,
    /// How often files are looked at where the system cannot watch them (1 s).
    pub poll: Duration,
    /// How often they are looked at where it can (30 s).
    pub look: Duration,
    /// How long the token helper may run (10 s).
    pub helper: Duration,
    /// How long fetching the catalogue may take in all (60 s).
    pub fetch: Duration,
    /// How often the catalogue is fetched, give or take a tenth (1 h).
    pub refresh: Duration,
    /// How soon it is tried again after a failure; doubled each time, up to `refresh` (1 min).
    pub retry: Duration,
}

// === impl SourcesOptions ===

impl SourcesOptions {
    /// The usual, with the helper under `guard`.
    pub fn new(guard: ProcessGuard) -> Self {
        Self {
            guard,
            pool: None,
            watching: WatchMode::default(),
            known_files: Vec::new(),
            timing: SourcesTiming::default(),
        }
    }

    /// The same for a workspace whose configuration was resolved to `desired` just now, so that its files are known.
    #[must_use]
    pub fn with_known_files(
        mut self,
        mut desired: Desired,
        surroundings: &HostContext,
        asked: &ResolveOptions,
    ) -> Self {
        // What is wrong with the files of editors is found again, and told then.
        let _ = ide::add_editor(&mut desired, surroundings, asked);
        self.known_files = desired.watched;
        self
    }
}

// === impl Timing ===

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
