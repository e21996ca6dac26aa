//! Options of `connect`: the hub's paths, the command that starts a hub, the client's view, and timeouts.
//!
//! Used by the commands `connect` and `ui` and by the rest of [`crate::attach`]. It does not read arguments or the
//! environment.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, time::Duration};

use switchboard_wire::json::Raw;

use crate::socket::{ClientHello, HELLO_PROTOCOL_VERSION, HelloPurpose, HubPaths};

/// The client to attach, the hub, and the timeouts.
#[derive(Clone)]
pub struct AttachOptions {
    /// The paths of the hub's socket and locks.
    pub place: HubPaths,
    /// How to start a hub if none runs.
    pub start: HubLaunchOptions,
    /// The version of this program.
    pub version: String,
    /// The client's working directory.
    pub cwd: PathBuf,
    /// The client's environment.
    pub env: BTreeMap<String, String>,
    /// The view that the client wants.
    pub view: Raw,
    /// The client's name and version, for people.
    pub client: Option<Raw>,
    /// The largest message (64 MiB).
    pub message_limit: usize,
    /// Timeouts and pauses.
    pub timing: AttachTiming,
}

/// How to start a hub. Its `main` calls [`crate::socket::detach`] first.
#[derive(Clone)]
pub struct HubLaunchOptions {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment. The variables behind [`crate::socket::HubFolders`] must be in it, or the hub listens
    /// elsewhere.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory: a folder that is never unmounted.
    pub cwd: PathBuf,
    /// The log file for its standard output and error.
    pub log: PathBuf,
}

/// Timeouts and pauses of [`attach`](super::attach).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachTiming {
    /// Finding or starting a hub (30 s).
    pub start: Duration,
    /// The hub's reply to a hello (35 s: it may have to load a workspace), and its answer to the repeated handshake.
    pub answer: Duration,
    /// Finding or starting a hub again after a loss, all attempts together (2 min).
    pub comeback: Duration,
    /// The first pause between attempts, doubled up to 5 s (100 ms).
    pub pause: Duration,
    /// How long a request waits while no hub is connected (5 s).
    pub hold: Duration,
    /// How long running requests may take once the client has closed its end (5 s).
    pub finish: Duration,
    /// A hub that lived longer than this does not count as a failed attempt (10 s).
    pub steady: Duration,
}

// === impl AttachOptions ===

impl AttachOptions {
    /// The defaults, with an empty view.
    pub fn new(place: HubPaths, start: HubLaunchOptions, version: impl Into<String>) -> Self {
        Self {
            place,
            start,
            version: version.into(),
            cwd: PathBuf::new(),
            env: BTreeMap::new(),
            view: Raw::empty_object(),
            client: None,
            message_limit: 64 << 20,
            timing: AttachTiming::default(),
        }
    }

    pub(super) fn hello(&self) -> ClientHello {
        ClientHello {
            switchboard: HELLO_PROTOCOL_VERSION,
            version: self.version.clone(),
            want: HelloPurpose::Mcp,
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            view: self.view.clone(),
            client: self.client.clone(),
        }
    }
}

/// Without environment and view, which may hold secrets.
impl fmt::Debug for AttachOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttachOptions")
            .field("place", &self.place)
            .field("start", &self.start)
            .field("version", &self.version)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

// === impl HubLaunchOptions ===

/// Without the environment, which may hold secrets.
impl fmt::Debug for HubLaunchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartHub")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

// === impl AttachTiming ===

impl Default for AttachTiming {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            answer: Duration::from_secs(35),
            comeback: Duration::from_secs(120),
            pause: Duration::from_millis(100),
            hold: Duration::from_secs(5),
            finish: Duration::from_secs(5),
            steady: Duration::from_secs(10),
        }
    }
}
