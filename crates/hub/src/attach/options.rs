//! What `connect` is told.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, time::Duration};

use switchboard_wire::json::Raw;

use crate::socket::{ClientHello, HELLO_PROTOCOL_VERSION, HelloPurpose, HubPaths};

/// Whom to attach, to what, and how.
#[derive(Clone)]
pub struct AttachOptions {
    /// Where the hub is.
    pub place: HubPaths,
    /// How to start it where there is none.
    pub start: HubLaunchOptions,
    /// Our version.
    pub version: String,
    /// The client's working directory.
    pub cwd: PathBuf,
    /// The client's environment.
    pub env: BTreeMap<String, String>,
    /// The view it wants.
    pub view: Raw,
    /// Who it is, for people.
    pub client: Option<Raw>,
    /// The largest message (64 MiB).
    pub message_limit: usize,
    /// How long everything may take.
    pub timing: AttachTiming,
}

/// How to start a hub. Its `main` calls [`crate::socket::detach`] first.
#[derive(Clone)]
pub struct HubLaunchOptions {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment. What [`crate::socket::HubFolders`] depends on must be in it, or it listens elsewhere.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs; a folder that nobody will want to unmount.
    pub cwd: PathBuf,
    /// Where what it writes is kept.
    pub log: PathBuf,
}

/// How long everything may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachTiming {
    /// Finding or starting a hub (30 s).
    pub start: Duration,
    /// The hub's answer to a hello (35 s: it may have to load a workspace), and to the handshake repeated.
    pub answer: Duration,
    /// Finding or starting one again after a loss, all attempts together (2 min).
    pub comeback: Duration,
    /// The first pause between attempts, doubled up to 5 s (100 ms).
    pub pause: Duration,
    /// How long a request waits while there is no hub (5 s).
    pub hold: Duration,
    /// How long answers are waited for when the client has closed its end (5 s).
    pub finish: Duration,
    /// A hub that lived so long was no failed attempt (10 s).
    pub steady: Duration,
}

// === impl AttachOptions ===

impl AttachOptions {
    /// The usual, with an empty view.
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

/// The environment and the view may hold secrets.
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

/// The environment may hold secrets.
impl fmt::Debug for HubLaunchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartHub")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

// === impl Timing ===

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
