//! Installing the entry for this program into another client's configuration file, and removing it.
//!
//! Used by the commands `install` and `uninstall`. Everything else in the file stays byte for byte, and an
//! entry that is not ours is never touched.

mod client_file;
mod toml;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::edit::{self, EditError, FilePrivacy, update_file};
use crate::error::Error;
use crate::host_context::{HostContext, Platform};
use crate::import::ClientApp;

pub use client_file::INSTALLABLE_CLIENTS;
use client_file::{ClientFile, ClientFileFormat};

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
    /// The present entry.
    pub standing: InstalledEntry,
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
        let ClientFile { file, member, format } =
            client_file::find_client_file(client, surroundings, platform)?;
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Some(Err(Error::Read { path: file, source })),
        };
        let standing = match format.get(&text, &[member, name]) {
            Ok(None) => InstalledEntry::Nothing,
            Ok(Some(entry)) if is_switchboard_entry(&entry) || starts_program(&entry, program) => {
                InstalledEntry::Ours(entry)
            }
            Ok(Some(entry)) => InstalledEntry::Other(entry),
            Err(source) => return Some(Err(Error::Edit { path: file, source })),
        };
        Some(Ok(Self { client, file, member, name: name.to_owned(), standing, format }))
    }

    /// The entry to write. Members that the user added to our entry stay.
    pub fn entry(&self, launch: &LaunchCommand) -> Value {
        let mut entry = match &self.standing {
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
        let path = [self.member, self.name.as_str()];
        let edit = |source| Error::Edit { path: self.file.clone(), source };
        update_file(&self.file, &surroundings.state_dir, FilePrivacy::Private, |text| {
            let standing = self.format.get(text, &path).map_err(edit)?;
            if standing.as_ref() != self.standing.value() {
                return Err(Error::Contended { path: self.file.clone() });
            }
            change(text, &path).map_err(edit)
        })
    }
}

// === impl InstalledEntry ===

impl InstalledEntry {
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
    fn get(self, text: &str, path: &[&str; 2]) -> Result<Option<Value>, EditError> {
        match self {
            Self::Json => edit::get_member(text, path),
            Self::Toml => toml::get(text, path),
        }
    }

    fn set(self, text: &str, path: &[&str], entry: &Value) -> Result<String, EditError> {
        match self {
            Self::Json => edit::set_member(text, path, entry),
            Self::Toml => toml::set(text, path, entry),
        }
    }

    fn remove(self, text: &str, path: &[&str]) -> Result<String, EditError> {
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

/// Whether an entry starts the program at `program` for a client, whatever the program's name.
fn starts_program(entry: &Value, program: &Path) -> bool {
    command(entry).is_some_and(|command| Path::new(command) == program) && is_for_clients(entry)
}

fn command(entry: &Value) -> Option<&str> {
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
