//! Routes under `/workspaces/{id}/servers`: entries in configuration files, shown, added, edited, removed, switched.
//!
//! Every change goes through [`config::ConfigWorkspace`], so that it obeys the administrator's policy and leaves the
//! rest of the file alone. When a response is sent, the engine has the new configuration. Entries are shown redacted; a
//! value that comes back still redacted keeps its secret.
//!
//! Used by `routes`, `approval` and `activity`. It does not show the state of servers (`servers` does).

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Deserialize;
use serde_json::{Map, Value, json as value};
use switchboard_config::{
    self as config, DesiredServer, OnExistingEntry, Scope, ServerSwitch, redact,
};
use switchboard_core::WorkspaceId;

use super::AdminApi;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{JsonBody, json, query_param};
use super::snippet;
use switchboard_sources::SyncedWorkspace;

/// The configuration files of one open workspace.
pub(super) struct WorkspaceFiles {
    admin: AdminApi,
    pub(super) served: Arc<SyncedWorkspace>,
}

/// Why a change failed.
pub(super) enum ChangeError {
    /// The configuration cannot be changed like this.
    Config(config::Error),
    /// The request is wrong.
    Problem(AdminProblem),
}

/// The body of `POST /servers`: one of `entry`, `url` and `snippet`.
#[derive(Deserialize)]
pub(super) struct AddServerRequest {
    name: Option<String>,
    scope: Option<Scope>,
    entry: Option<Value>,
    url: Option<String>,
    snippet: Option<String>,
}

/// The body of `PUT /servers/{name}`.
#[derive(Deserialize)]
pub(super) struct EditServerRequest {
    entry: Value,
}

// === impl WorkspaceFiles ===

impl WorkspaceFiles {
    pub(super) fn of(admin: &AdminApi, id: &str) -> Result<Self, AdminProblem> {
        let served = admin.0.host.find_workspace(&WorkspaceId::from(id));
        let served = served.ok_or_else(|| AdminProblem::no_workspace(id))?;
        Ok(Self { admin: admin.clone(), served })
    }

    /// Reads files on a blocking thread.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        doing: &str,
        work: impl FnOnce(&config::ConfigWorkspace) -> Result<T, ChangeError> + Send + 'static,
    ) -> Result<T, AdminProblem> {
        let served = Arc::clone(&self.served);
        let working = tokio::task::spawn_blocking(move || work(&served.files())).await;
        let done = working.map_err(|error| {
            AdminProblem::new(AdminProblemKind::Failed, doing).with_detail(error.to_string())
        })?;
        done.map_err(|failure| match failure {
            ChangeError::Config(error) => self.admin.0.host.change_problem(doing, &error),
            ChangeError::Problem(problem) => problem,
        })
    }

    /// Changes files on a blocking thread; when it returns, the new configuration is in force.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        doing: String,
        work: impl FnOnce(&config::ConfigWorkspace) -> Result<T, ChangeError> + Send + 'static,
    ) -> Result<T, AdminProblem> {
        let done = self.read(&doing, work).await?;
        self.served.reload().await;
        Ok(done)
    }

    /// Name, scope, file and state of a server after a change.
    fn server_json(&self, name: &str, scope: Scope, file: &FilePath) -> Value {
        let snapshot = self.served.snapshot();
        let state = snapshot.desired.servers_named(name).next().map(|server| server.state.name());
        value!({ "name": name, "scope": scope, "file": file, "state": state })
    }
}

// === impl ChangeError ===

impl From<config::Error> for ChangeError {
    fn from(error: config::Error) -> Self {
        Self::Config(error)
    }
}

impl From<AdminProblem> for ChangeError {
    fn from(problem: AdminProblem) -> Self {
        Self::Problem(problem)
    }
}

/// `GET /workspaces/{id}/servers/{name}`: the entry, redacted.
pub(super) async fn show(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let snapshot = WorkspaceFiles::of(&admin, &id)?.served.snapshot();
    let server = snapshot.desired.servers_named(&name).next();
    let server = server.ok_or_else(|| AdminProblem::no_server(&name))?;
    Ok(json(StatusCode::OK, &entry_of(server)))
}

fn entry_of(server: &DesiredServer) -> Value {
    value!({
        "name": server.name,
        "scope": server.scope,
        "at": server.at,
        "state": server.state.name(),
        "writable": server.scope.is_writable(),
        "entry": redact::redact_for_editing(&server.template.to_json()),
    })
}

/// `POST /workspaces/{id}/servers`.
pub(super) async fn add(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    JsonBody(adding): JsonBody<AddServerRequest>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let scope = adding.scope.unwrap_or(Scope::Local);
    let entries = adding.entries()?;
    let names: Vec<_> = entries.iter().map(|(name, _)| format!("`{name}`")).collect();
    let doing = format!("cannot add {}", names.join(", "));
    let written = files.change(doing, move |files| {
        let one = |(name, entry): (String, Value)| -> Result<(String, PathBuf), ChangeError> {
            refuse_client_secret(&entry)?;
            let path = files.add(scope, &name, &entry, OnExistingEntry::Keep)?;
            Ok((name, path))
        };
        entries.into_iter().map(one).collect::<Result<Vec<_>, _>>()
    });
    let written = written.await?;
    let told: Vec<_> =
        written.iter().map(|(name, path)| files.server_json(name, scope, path)).collect();
    Ok(json(StatusCode::CREATED, &value!({ "added": told })))
}

/// `PUT /workspaces/{id}/servers/{name}`.
pub(super) async fn edit(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
    JsonBody(editing): JsonBody<EditServerRequest>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let (wanted, of) = (scope_param(&uri)?, name.clone());
    let changed = files.change(format!("cannot edit `{name}`"), move |files| {
        let (scope, path) = files.find(&of, wanted)?;
        let written = entry_in_file(&of, &path)?;
        let entry =
            restore_redacted(&editing.entry, &redact::redact_for_editing(&written), &written);
        if entry.to_string().contains(redact::REDACTED)
            && !written.to_string().contains(redact::REDACTED)
        {
            return Err(still_redacted_problem().into());
        }
        refuse_client_secret(&entry)?;
        files.replace(scope, &path, &of, &entry)?;
        Ok((scope, path))
    });
    let (scope, path) = changed.await?;
    Ok(json(StatusCode::OK, &files.server_json(&name, scope, &path)))
}

/// `DELETE /workspaces/{id}/servers/{name}`.
pub(super) async fn remove(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let (wanted, of) = (scope_param(&uri)?, name.clone());
    let doing = format!("cannot remove `{name}`");
    let removed = files.change(doing, move |files| Ok(files.remove(&of, wanted)?));
    let (scope, path) = removed.await?;
    Ok(json(StatusCode::OK, &files.server_json(&name, scope, &path)))
}

/// `POST /workspaces/{id}/servers/{name}/enable`.
pub(super) async fn enable(
    state: State<AdminApi>,
    path: Path<(String, String)>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    switch(state, path, &uri, ServerSwitch::On).await
}

/// `POST /workspaces/{id}/servers/{name}/disable`.
pub(super) async fn disable(
    state: State<AdminApi>,
    path: Path<(String, String)>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    switch(state, path, &uri, ServerSwitch::Off).await
}

async fn switch(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
    uri: &Uri,
    switch: ServerSwitch,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let (scope, of) = (scope_param(uri)?.unwrap_or(Scope::Local), name.clone());
    let verb = match switch {
        ServerSwitch::On => "enable",
        ServerSwitch::Off => "disable",
    };
    let doing = format!("cannot {verb} `{name}`");
    let path = files.change(doing, move |files| Ok(files.switch(scope, &of, switch)?)).await?;
    Ok(json(StatusCode::OK, &files.server_json(&name, scope, &path)))
}

/// The `scope` of the query.
fn scope_param(uri: &Uri) -> Result<Option<Scope>, AdminProblem> {
    let scope = query_param(uri, "scope").map(|scope| scope.parse::<Scope>());
    scope.transpose().map_err(|error| AdminProblem::malformed(error.to_string()))
}

/// Reads the entry from its file.
fn entry_in_file(name: &str, path: &FilePath) -> Result<Value, ChangeError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| config::Error::Read { path: path.to_owned(), source })?;
    let entry = config::edit::get_member(&text, &["mcpServers", name])
        .map_err(|source| config::Error::Edit { path: path.to_owned(), source })?;
    Ok(entry.ok_or_else(|| config::Error::NoServer { name: name.to_owned() })?)
}

/// Returns `sent`, with every value that equals the `shown` (redacted) one replaced by the `written` one.
pub(super) fn restore_redacted(sent: &Value, shown: &Value, written: &Value) -> Value {
    if sent == shown {
        return written.clone();
    }
    match (sent, shown, written) {
        (Value::Object(sent), Value::Object(shown), Value::Object(written)) => {
            let member = |(name, sent): (&String, &Value)| {
                let value = match (shown.get(name), written.get(name)) {
                    (Some(shown), Some(written)) => restore_redacted(sent, shown, written),
                    _ => sent.clone(),
                };
                (name.clone(), value)
            };
            sent.iter().map(member).collect::<Map<_, _>>().into()
        }
        (Value::Array(sent), Value::Array(shown), Value::Array(written)) => {
            let element =
                |(index, sent): (usize, &Value)| match (shown.get(index), written.get(index)) {
                    (Some(shown), Some(written)) => restore_redacted(sent, shown, written),
                    _ => sent.clone(),
                };
            sent.iter().enumerate().map(element).collect()
        }
        _ => sent.clone(),
    }
}

fn still_redacted_problem() -> AdminProblem {
    AdminProblem::new(
        AdminProblemKind::Malformed,
        "a value of the entry is redacted, and nothing says which value it is",
    )
    .with_hint("send the new value, or leave the redacted value in its place")
}

/// Refuses an OAuth client secret in plain text: it does not belong in a configuration file.
fn refuse_client_secret(entry: &Value) -> Result<(), AdminProblem> {
    match entry["oauth"]["clientSecret"].as_str() {
        Some(secret) if redact::is_secret("clientSecret", secret) => Err(AdminProblem::new(
            AdminProblemKind::Malformed,
            "a client secret is not written to a file as plain text",
        )
        .with_hint(
            "store it with `switchboard secret set NAME`, and give `${secret:NAME}` in its place",
        )),
        _ => Ok(()),
    }
}

// === impl AddServerRequest ===

impl AddServerRequest {
    fn entries(self) -> Result<Vec<(String, Value)>, AdminProblem> {
        match (self.entry, self.url, self.snippet) {
            (Some(entry), None, None) => {
                Ok(vec![(self.name.ok_or_else(AdminProblem::unnamed)?, entry)])
            }
            (None, Some(url), None) => {
                let entry = snippet::entry_from_url(&url)?;
                Ok(vec![(self.name.ok_or_else(AdminProblem::unnamed)?, entry)])
            }
            (None, None, Some(text)) => snippet::parse_snippet(&text, self.name.as_deref()),
            _ => Err(AdminProblem::malformed("give one of `entry`, `url` and `snippet`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_hidden_comes_back_as_it_was() {
        let written = value!({ "url": "https://host/mcp", "headers": { "Authorization": "Bearer s3cret", "X-Team": "a" },
            "args": ["--token", "s3cret", "x"] });
        let shown = redact::redact_for_editing(&written);
        assert!(!shown.to_string().contains("s3cret"));
        assert_eq!(restore_redacted(&shown, &shown, &written), written);
        let mut sent = shown.clone();
        sent["url"] = "https://other/mcp".into();
        sent["args"][2] = "y".into();
        let entry = restore_redacted(&sent, &shown, &written);
        assert_eq!(entry["headers"], written["headers"]);
        assert_eq!(entry["args"], value!(["--token", "s3cret", "y"]));
        assert_eq!(entry["url"], "https://other/mcp");
        // A redacted value at another place cannot be matched with its secret.
        sent["args"] = value!(["y", "--token", redact::REDACTED]);
        assert!(restore_redacted(&sent, &shown, &written).to_string().contains(redact::REDACTED));
    }
}
