//! Everything that Switchboard has on this machine: files and folders of ours, and what stays and why.
//!
//! Used by `self_uninstall`. It reads and creates nothing.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use switchboard_config::Platform;
use switchboard_config::install::{ClientInstallation, INSTALLABLE_CLIENTS};
use switchboard_hub::socket::{HubFolders, hub_files};

use super::recognize;
use crate::surroundings::{self, Caller};

/// Folders beside the settings that hold files of the person.
const FOLDERS_OF_PERSON: [(&str, &str); 3] =
    [("agents", "your agents"), ("native", "your plugins"), ("plugins", "your bundles")];

/// Everything of ours.
#[derive(Debug, Serialize)]
pub(super) struct Inventory {
    pub(super) items: Vec<InventoryItem>,
    pub(super) stays: Vec<StayingFile>,
    /// Folders that are removed once they are empty.
    #[serde(skip)]
    pub(super) folders: Vec<PathBuf>,
}

/// A file or folder to remove, or an entry to take out of a file.
#[derive(Debug, Serialize)]
pub(super) struct InventoryItem {
    pub(super) kind: ItemKind,
    #[serde(serialize_with = "as_text")]
    pub(super) path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
    /// The entry to take out of the file, where the file is a client's.
    #[serde(skip)]
    pub(super) installation: Option<ClientInstallation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ItemKind {
    ClientEntry,
    Completion,
    Document,
    HubFile,
    ManPage,
    Settings,
    State,
    Unit,
}

/// A file or folder that is not removed.
#[derive(Debug, Serialize)]
pub(super) struct StayingFile {
    #[serde(serialize_with = "as_text")]
    pub(super) path: PathBuf,
    pub(super) reason: String,
}

fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

fn entry_text(found: &ClientInstallation) -> String {
    let ClientInstallation { client, name, project, .. } = found;
    let project = project.as_ref().map(|project| format!(", for {project}"));
    let client = client.display_name();
    format!("the entry `{name}` of {client}{}", project.unwrap_or_default())
}

// === impl Inventory ===

impl Inventory {
    pub(super) fn collect(caller: &Caller) -> Self {
        let host = &caller.surroundings;
        let mut inventory = Self { items: Vec::new(), stays: Vec::new(), folders: Vec::new() };
        inventory.add_clients(caller);
        for (kind, path) in recognize::files_in_home(host) {
            inventory.add(kind, path, None);
        }
        let folders = recognize::FOLDERS_IN_HOME.iter().map(|folder| host.home.join(folder));
        inventory.folders.extend(folders);
        let hub_files = hub_files(&HubFolders::from_surroundings(host));
        for path in hub_files.into_iter().filter(|path| !path.starts_with(&host.state_dir)) {
            let folder = path.parent().map(Path::to_owned);
            inventory.folders.extend(folder);
            inventory.add(ItemKind::HubFile, path, None);
        }
        inventory.add_settings(&host.config_dir);
        if host.state_dir.exists() {
            let detail = "logs, approvals, remembered answers, sign-ins, secrets, tokens, kept catalogs, large results";
            inventory.add(ItemKind::State, host.state_dir.clone(), Some(detail.to_owned()));
        }
        let project = caller.first_desired.root.join(".switchboard");
        if project.exists() {
            inventory.stay(project, "settings of this project");
        }
        inventory.add_program();
        inventory
    }

    fn add(&mut self, kind: ItemKind, path: PathBuf, detail: Option<String>) {
        self.items.push(InventoryItem { kind, path, detail, installation: None });
    }

    fn stay(&mut self, path: PathBuf, reason: impl Into<String>) {
        self.stays.push(StayingFile { path, reason: reason.into() });
    }

    /// Our entries in the files of clients. A file that cannot be read stays, with the reason.
    fn add_clients(&mut self, caller: &Caller) {
        let program = surroundings::program().unwrap_or_default();
        let (host, platform) = (&caller.surroundings, Platform::current());
        for client in INSTALLABLE_CLIENTS {
            match ClientInstallation::find_ours(client, &program, host, platform) {
                Some(Ok(found)) => {
                    self.items.extend(found.into_iter().map(|found| InventoryItem {
                        kind: ItemKind::ClientEntry,
                        path: found.file.clone(),
                        detail: Some(entry_text(&found)),
                        installation: Some(found),
                    }));
                }
                Some(Err(error)) => {
                    let file = client.user_files(host).into_iter().find(|file| file.exists());
                    self.stay(file.unwrap_or_default(), format!("cannot be read: {error}"));
                }
                None => {}
            }
        }
    }

    fn add_settings(&mut self, folder: &Path) {
        let settings = folder.join("settings.json");
        if settings.exists() {
            self.add(ItemKind::Settings, settings, None);
        }
        for (name, words) in FOLDERS_OF_PERSON {
            let path = folder.join(name);
            if path.exists() {
                self.stay(path, words);
            }
        }
        self.folders.push(folder.to_owned());
    }

    fn add_program(&mut self) {
        if let Some(program) = surroundings::program() {
            let removal = recognize::removal_command(&program);
            self.stay(program, format!("the program: remove it with `{removal}`"));
        }
    }
}

// === impl ItemKind ===

impl ItemKind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::ClientEntry => "client entry",
            Self::Completion => "completion",
            Self::Document => "document",
            Self::HubFile => "hub",
            Self::ManPage => "man page",
            Self::Settings => "settings",
            Self::State => "state",
            Self::Unit => "systemd unit",
        }
    }
}
