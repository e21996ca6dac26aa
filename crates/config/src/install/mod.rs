//! Installing the entry for this program into another client's configuration file, and removing it.
//!
//! Used by `setup` and by the commands `install` and `uninstall`. Everything else in the file stays byte for byte, and an
//! entry that is not ours is never touched.

mod client_file;
mod client_traits;
mod toml;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::edit::{self, EditError, FilePrivacy, update_file};
use crate::error::Error;
use crate::host_context::{HostContext, Platform};
use crate::import::ClientApp;

use client_file::ClientFile;
pub use client_file::INSTALLABLE_CLIENTS;
pub(crate) use client_file::{ClientFileFormat, servers_path};
pub use client_traits::ClientTraits;
pub(crate) use client_traits::config_folders;

/// The member of Claude Code's file that holds settings for single projects, by their folders.
const PROJECTS_MEMBER: &str = "projects";

/// The command with which a client starts this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchCommand {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments.
    pub args: Vec<String>,
}

/// The present entry under our name in a client's file.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientInstallation {
    /// The client.
    pub client: ClientApp,
    /// The file.
    pub file: PathBuf,
    /// The member of the file that holds servers.
    pub member: &'static str,
    /// The name of the entry.
    pub name: String,
    /// The project that the entry is for, as the client's file writes it; absent if it is for all projects.
    pub project: Option<String>,
    /// The present entry.
    pub current: InstalledEntry,
    format: ClientFileFormat,
}

/// The entry under a name.
#[derive(Debug, Clone, PartialEq)]
pub enum InstalledEntry {
    /// There is no entry.
    Nothing,
    /// An entry that starts this program for clients.
    Ours(Value),
    /// Another entry.
    Other(Value),
}

// === impl LaunchCommand ===

impl LaunchCommand {
    /// The command for one client. It names a client that reads files of a project itself, so that `connect`
    /// leaves those servers out. Not every client names itself: Gemini CLI is `mcp-test-client` in `mcp list`.
    #[must_use]
    pub fn for_client(&self, client: ClientApp) -> Self {
        let mut launch = self.clone();
        let is_named = launch.args.iter().any(|word| word == "--client");
        if ClientTraits::of(client).reads_mcp_json && !is_named {
            // After `connect`.
            launch.args.splice(1..1, ["--client".to_owned(), client.name().to_owned()]);
        }
        launch
    }
}

// === impl ClientInstallation ===

impl ClientInstallation {
    /// Reads the file of `client`; `None` for a client that cannot be installed into.
    pub fn inspect(
        client: ClientApp,
        name: &str,
        program: &Path,
        surroundings: &HostContext,
        platform: Platform,
    ) -> Option<Result<Self, Error>> {
        let found = client_file::find_client_file(client, surroundings, platform)?;
        Some(found.read(&[found.member, name]).map(|entry| {
            let current = InstalledEntry::from_entry(entry, program);
            Self::new(client, found, name, current)
        }))
    }

    /// Finds all entries of ours in the file of `client`, whatever their names, those for single projects too;
    /// `None` for a client that cannot be installed into.
    pub fn find_ours(
        client: ClientApp,
        program: &Path,
        surroundings: &HostContext,
        platform: Platform,
    ) -> Option<Result<Vec<Self>, Error>> {
        let found = client_file::find_client_file(client, surroundings, platform)?;
        Some(found.read_servers().map(|groups| {
            let ours = |(project, servers): (Option<String>, EntryMembers)| {
                let entries = servers.into_iter().filter_map(|(name, entry)| {
                    let current = InstalledEntry::from_entry(Some(entry), program);
                    let is_ours = matches!(current, InstalledEntry::Ours(_));
                    is_ours.then(|| Self::new(client, found.clone(), &name, current))
                });
                let entries = entries.map(|entry| Self { project: project.clone(), ..entry });
                entries.collect::<Vec<_>>()
            };
            groups.into_iter().flat_map(ours).collect()
        }))
    }

    fn new(client: ClientApp, found: ClientFile, name: &str, current: InstalledEntry) -> Self {
        let ClientFile { file, member, format, .. } = found;
        Self { client, file, member, name: name.to_owned(), project: None, current, format }
    }

    /// The path of the entry in the file.
    fn path(&self) -> Vec<&str> {
        let project = self.project.iter().flat_map(|project| [PROJECTS_MEMBER, project]);
        project.chain([self.member, &self.name]).collect()
    }

    /// The entry to write. Members that the user added to our entry stay.
    pub fn entry(&self, launch: &LaunchCommand) -> Value {
        let mut entry = match &self.current {
            InstalledEntry::Ours(Value::Object(members)) => members.clone(),
            _ => client_file::new_entry(self.client),
        };
        let program = launch.program.to_string_lossy();
        // An entry in an older form is replaced.
        if entry.get("command").is_some_and(Value::is_object) {
            entry = client_file::new_entry(self.client);
        }
        entry.insert("command".to_owned(), program.into());
        entry.insert("args".to_owned(), launch.args.clone().into());
        Value::Object(entry)
    }

    /// The entry under its name as text, as a user would type it into the file.
    pub fn entry_text(&self, entry: &Value) -> Result<String, EditError> {
        self.format.set("", &[self.member, &self.name], entry)
    }

    pub(crate) fn format(&self) -> ClientFileFormat {
        self.format
    }

    /// Writes the entry into the file.
    pub fn write(&self, entry: &Value, surroundings: &HostContext) -> Result<(), Error> {
        self.change(surroundings, |text, path| self.format.set(text, path, entry))
    }

    /// Removes the entry from the file.
    pub fn erase(&self, surroundings: &HostContext) -> Result<(), Error> {
        self.change(surroundings, |text, path| self.format.remove(text, path))
    }

    /// Changes the file, unless the entry has changed since [`inspect`](Self::inspect).
    fn change(
        &self,
        surroundings: &HostContext,
        change: impl Fn(&str, &[&str]) -> Result<String, EditError>,
    ) -> Result<(), Error> {
        let path = self.path();
        let edit = |source| Error::Edit { path: self.file.clone(), source };
        update_file(&self.file, &surroundings.state_dir, FilePrivacy::Private, |text| {
            let current = self.format.get(text, &path).map_err(edit)?;
            if current.as_ref() != self.current.value() {
                return Err(Error::Contended { path: self.file.clone() });
            }
            change(text, &path).map_err(edit)
        })
    }
}

// === impl ClientFile ===

impl ClientFile {
    /// Reads all servers of the file: those for all projects, and those for each project.
    fn read_servers(&self) -> Result<Vec<(Option<String>, EntryMembers)>, Error> {
        let mut groups = Vec::new();
        if let Some(Value::Object(servers)) = self.read(&[self.member])? {
            groups.push((None, servers));
        }
        if !self.has_projects {
            return Ok(groups);
        }
        if let Some(Value::Object(projects)) = self.read(&[PROJECTS_MEMBER])? {
            let of_projects = projects.into_iter().filter_map(|(project, mut settings)| {
                let servers = settings.get_mut(self.member)?.take();
                let Value::Object(servers) = servers else { return None };
                Some((Some(project), servers))
            });
            groups.extend(of_projects);
        }
        Ok(groups)
    }

    /// Reads the member at `path`; a file that does not exist has none.
    fn read(&self, path: &[&str]) -> Result<Option<Value>, Error> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(Error::Read { path: self.file.clone(), source }),
        };
        let read = self.format.get(&text, path);
        read.map_err(|source| Error::Edit { path: self.file.clone(), source })
    }
}

// === impl InstalledEntry ===

impl InstalledEntry {
    fn from_entry(entry: Option<Value>, program: &Path) -> Self {
        match entry {
            None => Self::Nothing,
            Some(entry) if is_entry_of_program(&entry, program) => Self::Ours(entry),
            Some(entry) => Self::Other(entry),
        }
    }

    /// The entry, if there is one.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Nothing => None,
            Self::Ours(entry) | Self::Other(entry) => Some(entry),
        }
    }
}

// === impl ClientFileFormat ===

impl ClientFileFormat {
    pub(crate) fn get(self, text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
        match self {
            Self::Json => edit::get_member(text, path),
            Self::Toml => toml::get(text, path),
        }
    }

    pub(crate) fn set(self, text: &str, path: &[&str], entry: &Value) -> Result<String, EditError> {
        match self {
            Self::Json => edit::set_member(text, path, entry),
            Self::Toml => toml::set(text, path, entry),
        }
    }

    pub(crate) fn remove(self, text: &str, path: &[&str]) -> Result<String, EditError> {
        match self {
            Self::Json => edit::remove_member(text, path),
            Self::Toml => toml::remove(text, path),
        }
    }
}

/// Whether an entry starts this program for a client, wherever the program lies.
pub fn is_switchboard_entry(entry: &Value) -> bool {
    let command = command(entry).unwrap_or_default();
    let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(file, "switchboard" | "switchboard.exe") && is_for_clients(entry)
}

/// Whether an entry starts this program for a client: under its usual name wherever it lies, or under any name at
/// `program`.
pub(crate) fn is_entry_of_program(entry: &Value, program: &Path) -> bool {
    let starts_program = command(entry).is_some_and(|command| Path::new(command) == program);
    is_switchboard_entry(entry) || starts_program && is_for_clients(entry)
}

/// The program that an entry starts.
pub(crate) fn command(entry: &Value) -> Option<&str> {
    match &entry["command"] {
        // In an older form of Zed, the command is an object.
        Value::Object(inner) => inner.get("path")?.as_str(),
        command => command.as_str(),
    }
}

fn is_for_clients(entry: &Value) -> bool {
    let args = match &entry["command"] {
        Value::Object(inner) => inner.get("args"),
        _ => entry.get("args"),
    };
    let mut args = args.and_then(Value::as_array).into_iter().flatten();
    args.any(|word| word.as_str() == Some("connect"))
}

/// The members of an entry.
type EntryMembers = Map<String, Value>;
