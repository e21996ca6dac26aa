//! Readers of other clients' configuration files, which convert their servers into entries of ours.
//!
//! Used by `switchboard import`, and by `load::user` for the setting `inherit`. Every reader is a function
//! from text to entries. No reader writes, and no reader touches the file it read.

mod client;
mod entry_builder;
mod existing;
mod identity;
mod plan;
mod reference_syntax;

mod claude_code;
mod codex;
mod continue_dev;
mod cursor;
mod gemini;
mod goose;
mod vscode;
mod windsurf;
mod zed;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::host_context::HostContext;
use crate::problem::{ConfigProblem, ConfigProblemKind, ProblemHint};
use crate::source::{
    self, ConfigNode, FileOwnership, FileReader, SourceLocation, SourceOrigin, jsonc, toml, yaml,
};

pub use client::{ClientApp, ClientFileOwner, UnknownClientApp};
pub(crate) use existing::existing_servers;
pub use identity::{ImportIdentity, UnreadableSecret};
pub use plan::{
    ExistingServer, ImportPlan, ImportSkipReason, ImportTarget, PlannedImport, SameServer,
    SkippedImport, plan_import,
};

/// A server in another client's file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportCandidate {
    /// The server's name in that file.
    pub name: String,
    /// The client that the file belongs to.
    pub client: ClientApp,
    /// The server as an entry of ours.
    pub entry: Value,
    /// Where the server stands.
    pub at: SourceLocation,
    /// The project that the server belongs to; absent if it is for all projects.
    pub project: Option<PathBuf>,
    /// The members that the entry leaves out, because they have no equivalent here.
    pub losses: Vec<ConfigProblem>,
}

/// The servers of other clients' files.
#[derive(Debug, Clone, Default)]
pub struct ClientServers {
    /// The servers.
    pub servers: Vec<ImportCandidate>,
    /// The problems of files that could not be read, and of servers that could not be converted.
    pub problems: Vec<ConfigProblem>,
}

impl ClientServers {
    /// Adds the servers and problems of another file.
    pub fn append(&mut self, other: Self) {
        self.servers.extend(other.servers);
        self.problems.extend(other.problems);
    }
}

/// Reads a file of `client`.
pub fn read_client_file(client: ClientApp, origin: &SourceOrigin, text: &str) -> ClientServers {
    let parsed =
        match origin.path().and_then(|path| path.extension()).and_then(|name| name.to_str()) {
            Some("toml") => toml::parse(origin, text),
            Some("yaml" | "yml") => yaml::parse(origin, text, 0),
            _ => jsonc::parse(origin, text),
        };
    match parsed {
        Ok(node) => servers(client, &node),
        Err(problem) => ClientServers { servers: Vec::new(), problems: vec![problem] },
    }
}

/// Reads the user's own files of `client`; of servers that belong to one project, only those of `root` are
/// returned, and the others named.
///
/// Files in a project are not read: their authors are the project's, and an import would make their servers
/// the user's. [`read_project_files`] reads them if a person asks for it.
pub fn read_user_files(
    client: ClientApp,
    surroundings: &HostContext,
    root: &Path,
) -> ClientServers {
    let mut reader = FileReader::default();
    let (files, problems) = list_client_files(client.user_files(surroundings), &mut reader);
    let mut read = read_files(client, files, FileReader::read_client_file);
    read.problems.extend(problems);
    apply_switches(client, surroundings, &mut reader, &mut read);
    let is_here =
        |found: &ImportCandidate| found.project.as_deref().is_none_or(|project| project == root);
    let (here, elsewhere): (Vec<_>, Vec<_>) = read.servers.into_iter().partition(is_here);
    read.servers = here;
    read.problems.extend(elsewhere.iter().filter_map(elsewhere_note));
    read
}

/// The note for a server of another project.
fn elsewhere_note(found: &ImportCandidate) -> Option<ConfigProblem> {
    let ImportCandidate { name, client, .. } = found;
    let project = found.project.as_ref()?.display();
    let message = format!("`{name}` belongs to {project}, and is not imported here");
    let hint = format!("run `switchboard import {client}` in that folder");
    Some(
        ConfigProblem::note(ConfigProblemKind::CannotImport, message)
            .at(found.at.clone())
            .of_server(name)
            .hint(ProblemHint::Other(hint)),
    )
}

/// Reads the files of `client` in the project at `root`. Their servers belong to that project.
///
/// In a home, these may be the user's own files, which are not the project's. A link out of the project is not
/// followed: it could present the user's own file as one of the project.
pub fn read_project_files(
    client: ClientApp,
    surroundings: &HostContext,
    root: &Path,
) -> ClientServers {
    let user_files = client.user_files(surroundings);
    let mut files = client.project_files(root);
    files.retain(|path| !user_files.contains(path));
    let mut reader = FileReader::default();
    let (files, problems) = list_client_files(files, &mut reader);
    let is_outside = |path: &PathBuf| match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => !path.starts_with(root),
        // A file that is not there, or that the reader cannot open either.
        _ => false,
    };
    let (outside, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_outside);
    let ownership = surroundings.ownership();
    let mut read = read_files(client, files, |reader, path| reader.read(path, ownership));
    read.problems.extend(problems);
    apply_switches(client, surroundings, &mut reader, &mut read);
    read.problems.extend(outside.iter().map(|path| link_problem(path)));
    for found in &mut read.servers {
        found.project = Some(root.to_owned());
    }
    read
}

/// The files of a list in which a folder stands for the configuration files in it.
pub(crate) fn list_client_files(
    files: Vec<PathBuf>,
    reader: &mut FileReader,
) -> (Vec<PathBuf>, Vec<ConfigProblem>) {
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    let is_configuration = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file()
    };
    for path in files {
        if !path.is_dir() {
            listed.push(path);
            continue;
        }
        match reader.list(&path) {
            Ok(inside) => listed.extend(inside.into_iter().filter(is_configuration)),
            Err(problem) => problems.push(problem),
        }
    }
    (listed, problems)
}

/// Disables the servers that the client has switched off in a file beside those that hold them.
pub(crate) fn apply_switches(
    client: ClientApp,
    surroundings: &HostContext,
    reader: &mut FileReader,
    read: &mut ClientServers,
) {
    let Some(path) = client.switch_file(surroundings) else { return };
    let parsed = match reader.read(&path, FileOwnership::Any) {
        source::FileReadResult::Nothing => return,
        source::FileReadResult::Unusable(problem) => Err(problem),
        source::FileReadResult::Text(text) => jsonc::parse(&SourceOrigin::file(&path), &text),
    };
    match parsed {
        Ok(switches) => gemini::apply_switches(&switches, &mut read.servers),
        Err(problem) => read.problems.push(problem),
    }
}

fn link_problem(path: &Path) -> ConfigProblem {
    let message = format!("skipped {}: it is a link out of the project", path.display());
    ConfigProblem::warning(ConfigProblemKind::LinkNotFollowed, message).in_file(path)
}

fn read_files(
    client: ClientApp,
    files: Vec<PathBuf>,
    read: impl Fn(&mut FileReader, &Path) -> source::FileReadResult,
) -> ClientServers {
    let mut all = ClientServers::default();
    for path in files {
        match read(&mut FileReader::default(), &path) {
            source::FileReadResult::Nothing => {}
            source::FileReadResult::Unusable(problem) => all.problems.push(problem),
            source::FileReadResult::Text(text) => {
                all.append(read_client_file(client, &SourceOrigin::file(&path), &text));
            }
        }
    }
    all
}

fn servers(client: ClientApp, node: &ConfigNode) -> ClientServers {
    match client {
        // The file of Claude Desktop has this form, too.
        ClientApp::ClaudeCode | ClientApp::ClaudeDesktop => claude_code::servers(client, node),
        ClientApp::Cursor => cursor::servers(client, node),
        ClientApp::VsCode => vscode::servers(client, node),
        ClientApp::Codex => codex::servers(client, node),
        ClientApp::Gemini => gemini::servers(client, node),
        ClientApp::Windsurf => windsurf::servers(client, node),
        ClientApp::Zed => zed::servers(client, node),
        ClientApp::Continue => continue_dev::servers(client, node),
        ClientApp::Goose => goose::servers(client, node),
    }
}
