//! Discovery of open editors: reads the lock files in which editor extensions give their port and token.
//!
//! Used by `sources` and the commands, which add the editor as a server with [`add_editor`]. The files are in one
//! folder, named `<port>.lock`. A file counts while its process runs and one of its folders contains the project,
//! or lies in it. Of an editor's tools the catalog shows `getDiagnostics` and `executeCode`, or those that
//! `ideTools` names.
//!
//! It does not connect to editors: the entry that it adds is connected like any other.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use switchboard_config::{
    ConfigMember, ConfigNode, ConfigValue, Desired, DiscoveredServer, EDITOR_SERVER, Entry,
    HostContext, IdeTransport, ResolveOptions, Scope, SourceLocation, SourceOrigin, Transport,
};
use switchboard_wire::sanitize;

use crate::problem::{EngineProblem, EngineProblemKind};

/// The largest lock file that is read; a longer file is not a lock file.
const MAX_LOCK_FILE_BYTES: u64 = 64 * 1024;
/// How many lock files are read.
const MAX_LOCK_FILES: usize = 256;

/// An open editor.
#[derive(Clone, PartialEq, Eq)]
pub struct OpenEditor {
    /// The name that the editor gives itself.
    pub name: String,
    /// The folders that are open in the editor.
    pub folders: Vec<PathBuf>,
    file: PathBuf,
    transport: Transport,
    /// How well its folders fit the project; more is better.
    fits: usize,
}

/// The content of a lock file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditorLockFile {
    pid: Option<i32>,
    #[serde(default)]
    workspace_folders: Vec<PathBuf>,
    #[serde(default)]
    ide_name: String,
    transport: Option<String>,
    auth_token: Option<String>,
}

/// Returns the folder of the lock files.
pub fn lock_folder(surroundings: &HostContext) -> PathBuf {
    let named = surroundings.env.get("SWITCHBOARD_IDE_DIR");
    match named.filter(|folder| !folder.trim().is_empty()) {
        Some(folder) => folder.into(),
        None => surroundings.home.join(".claude/ide"),
    }
}

/// Adds the editor in which the project is open as a server, unless a server of that name is configured or only the
/// configuration of this run counts. Adds the lock folder to the watched files. Returns the lock files that cannot
/// be read, as problems.
pub fn add_editor(
    desired: &mut Desired,
    surroundings: &HostContext,
    asked: &ResolveOptions,
) -> Vec<EngineProblem> {
    if desired.exclusive || asked.strict || desired.servers_named(EDITOR_SERVER).next().is_some() {
        return Vec::new();
    }
    let folder = lock_folder(surroundings);
    let (editors, problems) = find_editors(&folder, &desired.root);
    desired.watched.extend(lock_files(&folder));
    desired.watched.push(folder);
    if let Some(editor) = editors.first() {
        desired.add_discovered(editor.to_found_server());
    }
    problems
}

/// Returns the editors in which the project at `root` is open, best fit first, and lock files that cannot be read.
pub fn find_editors(folder: &Path, root: &Path) -> (Vec<OpenEditor>, Vec<EngineProblem>) {
    let (mut editors, mut problems) = (Vec::new(), Vec::new());
    for file in lock_files(folder) {
        match read_lock_file(&file) {
            Ok(lock) => editors.extend(OpenEditor::of(lock, file, root)),
            Err(reason) => problems.push(lock_file_problem(&file, &reason)),
        }
    }
    editors.sort_by(|a, b| b.fits.cmp(&a.fits).then_with(|| a.file.cmp(&b.file)));
    (editors, problems)
}

// === impl OpenEditor ===

impl OpenEditor {
    fn of(lock: EditorLockFile, file: PathBuf, root: &Path) -> Option<Self> {
        let port: u16 = file.file_stem()?.to_str()?.parse().ok()?;
        if !lock.pid.is_none_or(is_running) {
            return None;
        }
        let fit = |folder: &PathBuf| {
            let holds = root.starts_with(folder) || folder.starts_with(root);
            holds.then(|| folder.components().count())
        };
        let fits = lock.workspace_folders.iter().filter_map(fit).max()?;
        let name = sanitize::sanitize_line(&lock.ide_name).into_owned();
        let ide = |scheme: &str, path: &str| IdeTransport {
            url: format!("{scheme}://127.0.0.1:{port}{path}"),
            ide_name: Some(name.clone()),
            auth_token: lock.auth_token.clone(),
        };
        let transport = match lock.transport.as_deref() {
            Some("sse") => Transport::SseIde(ide("http", "/sse")),
            _ => Transport::WsIde(ide("ws", "")),
        };
        Some(Self { name, folders: lock.workspace_folders, file, transport, fits })
    }

    /// Returns the editor as a discovered server, for
    /// [`Desired::add_discovered`].
    pub fn to_found_server(&self) -> DiscoveredServer {
        let at = SourceOrigin::file(&self.file).start();
        DiscoveredServer {
            name: EDITOR_SERVER.to_owned(),
            scope: Scope::Dynamic,
            template: self.template(&at),
            at,
            entry: Entry::new(self.transport.clone()),
        }
    }

    /// Builds the entry as a person would write it, without the token.
    fn template(&self, at: &SourceLocation) -> ConfigNode {
        let text = |name: &str, text: &str| ConfigMember {
            key: name.to_owned(),
            at: at.clone(),
            value: ConfigNode { value: ConfigValue::String(text.to_owned()), at: at.clone() },
        };
        let url = self.transport.url().unwrap_or_default();
        let members = vec![
            text("type", self.transport.name()),
            text("url", url),
            text("ideName", &self.name),
        ];
        ConfigNode { value: ConfigValue::Object(members), at: at.clone() }
    }
}

impl std::fmt::Debug for OpenEditor {
    // Leaves the token out: it is a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Editor")
            .field("name", &self.name)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// Returns the lock files in a stable order; empty if the folder does not exist.
fn lock_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let files = entries.flatten().map(|entry| entry.path());
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "lock");
    let mut files: Vec<_> = files.filter(is_lock).take(MAX_LOCK_FILES).collect();
    files.sort();
    files
}

/// Reads a lock file that this user owns. Another user's file could direct our calls to that user's server.
fn read_lock_file(file: &Path) -> Result<EditorLockFile, String> {
    use std::os::unix::fs::MetadataExt as _;

    let about = fs::symlink_metadata(file).map_err(|error| error.to_string())?;
    if !about.is_file() || about.len() > MAX_LOCK_FILE_BYTES {
        return Err("it is not a small plain file".to_owned());
    }
    if about.uid() != nix::unistd::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    let text = fs::read(file).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

fn is_running(pid: i32) -> bool {
    pid > 0 && nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok()
}

fn lock_file_problem(file: &Path, reason: &str) -> EngineProblem {
    let message = format!("the editor's file {} cannot be used: {reason}", file.display());
    let message = sanitize::sanitize_line(&message).into_owned();
    EngineProblem::new(EngineProblemKind::Editor, message).of_server(EDITOR_SERVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the editors of `/work/app` among lock files with these names and texts.
    fn found(files: &[(&str, &str)]) -> (Vec<String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let (editors, problems) = find_editors(folder.path(), Path::new("/work/app"));
        let shown = |editor: &OpenEditor| {
            let transport = editor.to_found_server().entry.transport;
            format!("{} {}", transport.name(), transport.url().unwrap())
        };
        (editors.iter().map(shown).collect(), problems.len())
    }

    #[test]
    fn an_editor_counts_where_the_project_is_open_in_it() {
        let us = std::process::id();
        let at = |folders: &str, more: &str| {
            format!(r#"{{"pid":{us},"workspaceFolders":{folders},"ideName":"Ed"{more}}}"#)
        };
        let ws = "ws-ide ws://127.0.0.1:4001";
        let check = |text: String, expected: &[&str], problems: usize| {
            let (editors, wrong) = found(&[("4001.lock", &text)]);
            assert_eq!(
                (editors, wrong),
                (expected.iter().map(ToString::to_string).collect(), problems)
            );
        };
        check(at(r#"["/work/app"]"#, r#","authToken":"t","transport":"ws""#), &[ws], 0);
        check(at(r#"["/work"]"#, ""), &[ws], 0);
        check(at(r#"["/work/app/part"]"#, ""), &[ws], 0);
        check(at(r#"["/work/application"]"#, ""), &[], 0);
        check(at("[]", ""), &[], 0);
        let sse = at(r#"["/work/app"]"#, r#","transport":"sse""#);
        check(sse, &["sse-ide http://127.0.0.1:4001/sse"], 0);
        check(r#"{"pid":2147483647,"workspaceFolders":["/work/app"]}"#.to_owned(), &[], 0);
        check("not json".to_owned(), &[], 1);
    }

    #[test]
    fn the_closest_folder_comes_first() {
        let us = std::process::id();
        let at = |folder: &str| format!(r#"{{"pid":{us},"workspaceFolders":["{folder}"]}}"#);
        let (editors, _) = found(&[
            ("1.lock", &at("/")),
            ("2.lock", &at("/work/app")),
            ("x.txt", "{"),
            ("y.lock", &at("/")),
        ]);
        assert_eq!(editors, ["ws-ide ws://127.0.0.1:2", "ws-ide ws://127.0.0.1:1"]);
    }
}
