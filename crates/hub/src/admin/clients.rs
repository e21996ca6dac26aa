//! Routes under `/workspaces/{id}/clients` and `/workspaces/{id}/import`: other clients of this machine, our entry in
//! their files, and their servers copied here.
//!
//! Reading and editing clients' files is in `config::{setup, install, import}`; the commands `clients`, `install`,
//! `uninstall` and `import` make these edits, too. Used by `routes`. It does not show which clients are connected (`routes::status`
//! does), and moves no secrets.

use std::path::{Path as FilePath, PathBuf};

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json as value};
use switchboard_config::import::{ClientApp, ClientFileOwner, ImportPlan, SkippedImport};
use switchboard_config::install::{
    ClientInstallation, INSTALLABLE_CLIENTS, InstalledEntry, LaunchCommand,
};
use switchboard_config::setup::{ClientOverview, ClientPresence, find_program};
use switchboard_config::{ConfigWorkspace, OnExistingEntry, Platform, redact};
use switchboard_wire::sanitize;

use super::AdminApi;
use super::files::{ChangeError, WorkspaceFiles};
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{JsonBody, json};

/// The name of our entry in clients' files.
const ENTRY_NAME: &str = "switchboard";
/// The name of the program in a folder of `PATH`.
const PROGRAM_NAME: &str = "switchboard";
/// The variable that says where the user's settings are; clients do not pass it on, so the entry names the folder.
const CONFIG_DIR_VARIABLE: &str = "SWITCHBOARD_CONFIG_DIR";

/// The body of `POST /import`.
#[derive(Deserialize)]
pub(super) struct ImportRequest {
    /// The names of the planned servers that are copied.
    names: Vec<String>,
}

/// `GET /workspaces/{id}/clients`: every client that is known, and our entries in its files.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let program = program(&admin)?;
    let clients = files.read("cannot look for clients", move |files| {
        let overview = |client| {
            let read = files.read_client_files(&[client], ClientFileOwner::User);
            ClientOverview::new(client, &read.servers, &program, files.host())
        };
        let shown = |client| overview_json(&overview(client));
        Ok(ClientApp::ALL.into_iter().map(shown).collect::<Vec<_>>())
    });
    Ok(json(StatusCode::OK, &value!({ "clients": clients.await? })))
}

fn overview_json(overview: &ClientOverview) -> Value {
    let entries = overview.entries.iter().map(|entry| {
        value!({ "name": line(&entry.name), "program": entry.program, "match": entry.is.name() })
    });
    value!({
        "client": overview.client.name(),
        "path": overview.presence.as_ref().map(ClientPresence::path),
        "installable": INSTALLABLE_CLIENTS.contains(&overview.client),
        "entries": entries.collect::<Vec<_>>(),
    })
}

/// `GET /workspaces/{id}/clients/{client}`: the file and the entry that an installation writes.
pub(super) async fn preview(
    State(admin): State<AdminApi>,
    Path((id, client)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let (files, client) = (WorkspaceFiles::of(&admin, &id)?, client_named(&client)?);
    let program = program(&admin)?;
    let shown = files.read("cannot look into the file of the client", move |files| {
        let found = installation(files, client, &program)?;
        let entry = found.entry(&launch(files, client, &program));
        let text = found.entry_text(&entry).map_err(|error| failed(&error.to_string()))?;
        Ok(value!({
            "client": client.name(), "file": found.file, "name": found.name, "text": text,
            "isInstalled": found.current.value() == Some(&entry),
            "isTaken": matches!(found.current, InstalledEntry::Other(_)),
        }))
    });
    Ok(json(StatusCode::OK, &shown.await?))
}

/// `POST /workspaces/{id}/clients/{client}`: writes our entry into the client's file.
pub(super) async fn install(
    State(admin): State<AdminApi>,
    Path((id, client)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let (files, client) = (WorkspaceFiles::of(&admin, &id)?, client_named(&client)?);
    let program = program(&admin)?;
    let done = files.change(format!("cannot install in {client}"), move |files| {
        let found = installation(files, client, &program)?;
        if matches!(found.current, InstalledEntry::Other(_)) {
            let title = format!("{client} has another server under the name `{ENTRY_NAME}`");
            return Err(AdminProblem::new(AdminProblemKind::Refused, title)
                .with_hint("`switchboard install --name` chooses another name")
                .into());
        }
        found.write(&found.entry(&launch(files, client, &program)), files.host())?;
        Ok(value!({ "client": client.name(), "file": found.file, "name": found.name }))
    });
    Ok(json(StatusCode::OK, &done.await?))
}

/// `DELETE /workspaces/{id}/clients/{client}`: takes every entry of ours out of the client's file.
pub(super) async fn uninstall(
    State(admin): State<AdminApi>,
    Path((id, client)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let (files, client) = (WorkspaceFiles::of(&admin, &id)?, client_named(&client)?);
    let program = program(&admin)?;
    let done = files.change(format!("cannot uninstall from {client}"), move |files| {
        let platform = Platform::current();
        let found = ClientInstallation::find_ours(client, &program, files.host(), platform);
        let found = found.ok_or_else(|| not_installable(client))??;
        for entry in &found {
            entry.erase(files.host())?;
        }
        let names: Vec<_> = found.iter().map(|entry| line(&entry.name)).collect();
        Ok(value!({ "client": client.name(), "removed": names }))
    });
    Ok(json(StatusCode::OK, &done.await?))
}

/// `GET /workspaces/{id}/import`: servers of other clients that are not here yet. Entries are redacted.
pub(super) async fn plan_import(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let plan = files.read("cannot look for servers", |files| Ok(plan_json(&plan(files)))).await?;
    Ok(json(StatusCode::OK, &plan))
}

/// `POST /workspaces/{id}/import`: copies planned servers.
pub(super) async fn import(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    JsonBody(wanted): JsonBody<ImportRequest>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let added = files.change("cannot import".to_owned(), move |files| {
        let chosen = plan(files).add.into_iter().filter(|each| wanted.names.contains(&each.name));
        chosen
            .map(|each| {
                let entry = &each.candidate.entry;
                let file = files.add(each.scope, &each.name, entry, OnExistingEntry::Keep)?;
                Ok(value!({ "name": each.name, "scope": each.scope, "file": file }))
            })
            .collect::<Result<Vec<_>, ChangeError>>()
    });
    Ok(json(StatusCode::CREATED, &value!({ "added": added.await? })))
}

fn plan(files: &ConfigWorkspace) -> ImportPlan {
    let read = files.read_client_files(&ClientApp::ALL, ClientFileOwner::User);
    files.plan_import(read, None)
}

fn plan_json(plan: &ImportPlan) -> Value {
    let add = plan.add.iter().map(|each| {
        value!({
            "name": line(&each.name), "scope": each.scope, "client": each.candidate.client.name(),
            "file": line(&each.candidate.at.origin.to_string()),
            "entry": redact::redact_entry(&each.candidate.entry),
        })
    });
    let skipped = |each: &SkippedImport| {
        value!({
            "name": line(&each.candidate.name), "client": each.candidate.client.name(),
            "reason": each.reason.name(),
        })
    };
    value!({
        "add": add.collect::<Vec<_>>(),
        "skipped": plan.skip.iter().map(skipped).collect::<Vec<_>>(),
        "problems": plan.problems.iter().map(|each| line(&each.message)).collect::<Vec<_>>(),
    })
}

fn client_named(name: &str) -> Result<ClientApp, AdminProblem> {
    name.parse()
        .map_err(|_| AdminProblem::malformed(format!("no client is called `{}`", line(name))))
}

fn installation(
    files: &ConfigWorkspace,
    client: ClientApp,
    program: &FilePath,
) -> Result<ClientInstallation, ChangeError> {
    let platform = Platform::current();
    let found = ClientInstallation::inspect(client, ENTRY_NAME, program, files.host(), platform);
    Ok(found.ok_or_else(|| not_installable(client))??)
}

fn launch(files: &ConfigWorkspace, client: ClientApp, program: &FilePath) -> LaunchCommand {
    let mut args = vec!["connect".to_owned()];
    let host = files.host();
    if host.env.contains_key(CONFIG_DIR_VARIABLE) {
        args.extend(["--config-dir".to_owned(), host.config_dir.display().to_string()]);
    }
    let program = stable_path(program, files);
    LaunchCommand { program, args }.for_client(client)
}

/// The link on `PATH` that leads to this program, if there is one: a link outlives the version that it points to.
fn stable_path(program: &FilePath, files: &ConfigWorkspace) -> PathBuf {
    let found = find_program(PROGRAM_NAME, files.host());
    let is_this = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == program);
    found.filter(is_this).unwrap_or_else(|| program.to_owned())
}

fn program(admin: &AdminApi) -> Result<PathBuf, AdminProblem> {
    admin.0.host.program().ok_or_else(|| failed("the hub does not know where its program is"))
}

fn not_installable(client: ClientApp) -> AdminProblem {
    AdminProblem::new(AdminProblemKind::Refused, format!("{client} cannot be written to"))
        .with_hint("its documentation says how to add a server")
}

fn failed(title: &str) -> AdminProblem {
    AdminProblem::new(AdminProblemKind::Failed, title)
}

fn line(text: &str) -> String {
    sanitize::sanitize_line(text).into_owned()
}
