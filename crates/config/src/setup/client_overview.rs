//! The overview of one client on this machine: how it shows, and which entries in its files start this program.
//!
//! Used by `setup::plan` and the command `clients`. It does not know which clients are connected now (the hub does).

use std::path::{Path, PathBuf};

use crate::host_context::HostContext;
use crate::import::{ClientApp, ImportCandidate};
use crate::install::{self, ClientTraits};

/// One client on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientOverview {
    /// The client.
    pub client: ClientApp,
    /// How the client shows; absent if it is not on this machine.
    pub presence: Option<ClientPresence>,
    /// The entries of its user files that start this program.
    pub entries: Vec<OurEntry>,
}

/// The trace of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientPresence {
    /// A file of its configuration.
    UserFile(PathBuf),
    /// The folder of its configuration.
    ConfigFolder(PathBuf),
    /// Its program, on `PATH`.
    Program(PathBuf),
}

/// An entry that starts this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurEntry {
    /// Its name in the client's file.
    pub name: String,
    /// The program that it starts.
    pub program: PathBuf,
    /// Whether that is the program at hand.
    pub is: ProgramMatch,
}

/// How the program of an entry compares with the program at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramMatch {
    /// The entries are equal.
    Same,
    /// It is another one.
    Other,
    /// It does not exist.
    Missing,
}

// === impl ClientOverview ===

impl ClientOverview {
    /// Looks for a client whose user files hold `servers`; `program` is the program at hand.
    pub fn new(
        client: ClientApp,
        servers: &[ImportCandidate],
        program: &Path,
        host: &HostContext,
    ) -> Self {
        let entries = servers.iter().filter_map(|server| OurEntry::find(server, program, host));
        let entries = entries.collect();
        Self { client, presence: ClientPresence::find(client, host), entries }
    }
}

// === impl ClientPresence ===

impl ClientPresence {
    fn find(client: ClientApp, host: &HostContext) -> Option<Self> {
        let file = client.user_files(host).into_iter().find(|file| file.is_file());
        let folder =
            || install::config_folders(client, host).into_iter().find(|path| path.is_dir());
        let program =
            || ClientTraits::of(client).programs.iter().find_map(|name| find_program(name, host));
        file.map(Self::UserFile)
            .or_else(|| folder().map(Self::ConfigFolder))
            .or_else(|| program().map(Self::Program))
    }

    /// The path of the trace.
    pub fn path(&self) -> &Path {
        match self {
            Self::UserFile(path) | Self::ConfigFolder(path) | Self::Program(path) => path,
        }
    }
}

// === impl OurEntry ===

impl OurEntry {
    fn find(server: &ImportCandidate, program: &Path, host: &HostContext) -> Option<Self> {
        let entry = &server.entry;
        if !install::is_entry_of_program(entry, program) {
            return None;
        }
        let command = install::command(entry)?;
        let found = match Path::new(command) {
            path if path.is_absolute() => Some(path.to_owned()),
            _ => find_program(command, host),
        };
        let real = found.as_ref().and_then(|path| path.canonicalize().ok());
        let is = match real {
            None => ProgramMatch::Missing,
            Some(real) if program.canonicalize().is_ok_and(|program| program == real) => {
                ProgramMatch::Same
            }
            Some(_) => ProgramMatch::Other,
        };
        let program = found.unwrap_or_else(|| command.into());
        Some(Self { name: server.name.clone(), program, is })
    }
}

// === impl ProgramMatch ===

impl ProgramMatch {
    /// A stable word for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "this-program",
            Self::Other => "another-program",
            Self::Missing => "missing",
        }
    }
}

/// The first file called `name` in a folder of the caller's `PATH`.
pub fn find_program(name: &str, host: &HostContext) -> Option<PathBuf> {
    let folders = host.env.get("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let folders = folders.unwrap_or_default().into_iter().filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}
