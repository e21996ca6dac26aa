//! Routes under `/workspaces/{id}/approvals`: entries of a project that await approval, and the decision about them.
//!
//! A decision names the digest of the text that was shown, so that a person cannot approve a text that has changed
//! since. The text is shown as it stands in the project's file, unexpanded and not redacted: a project could make the
//! redaction cover a part of a command.
//!
//! Used by `routes`. It does not store decisions (`config::ConfigWorkspace` does).

use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};
use switchboard_config::{ApprovalChange, ApprovalItem, ApprovalItemKind, Desired, SourceLocation};

use super::AdminApi;
use super::files::{ChangeError, WorkspaceFiles};
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{JsonBody, json};

/// An item that awaits approval.
#[derive(Serialize)]
struct PendingApproval {
    kind: ApprovalItemKind,
    name: String,
    at: SourceLocation,
    /// The item's content, as it stands in the file.
    content: Value,
    /// The differences from the content that was approved last.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ApprovalChange>>,
    /// The secrets that the item names, and gets once it is approved.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    secrets: BTreeSet<String>,
    /// The digest of this content.
    digest: String,
}

/// A person's decision.
#[derive(Deserialize)]
pub(super) struct ApprovalDecision {
    name: String,
    digest: String,
    verdict: ApprovalVerdict,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ApprovalVerdict {
    Approve,
    Reject,
}

/// `GET /workspaces/{id}/approvals`.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let snapshot = WorkspaceFiles::of(&admin, &id)?.served.snapshot();
    let pending: Vec<_> = snapshot
        .desired
        .pending
        .iter()
        .map(|pending| PendingApproval::from_item(&pending.item, pending.changes.clone()))
        .collect();
    Ok(json(StatusCode::OK, &value!({ "pending": pending })))
}

/// `POST /workspaces/{id}/approvals`.
pub(super) async fn decide(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    JsonBody(decision): JsonBody<ApprovalDecision>,
) -> Result<Response, AdminProblem> {
    let files = WorkspaceFiles::of(&admin, &id)?;
    let ApprovalDecision { name, digest, verdict } = decision;
    let doing = match verdict {
        ApprovalVerdict::Approve => format!("cannot approve `{name}`"),
        ApprovalVerdict::Reject => format!("cannot reject `{name}`"),
    };
    let deciding = files.change(doing, move |files| {
        // Reads the files again: they may have changed since the item was shown.
        let item = find_item(&files.desired(), &name, &digest)?;
        match verdict {
            ApprovalVerdict::Approve => files.approve(&[item])?,
            ApprovalVerdict::Reject => files.reject(&[item])?,
        }
        Ok::<_, ChangeError>(())
    });
    deciding.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Finds the item with this name and digest.
fn find_item(desired: &Desired, name: &str, digest: &str) -> Result<ApprovalItem, AdminProblem> {
    let pending = desired.pending.iter().map(|pending| &pending.item);
    let decided = desired.servers.iter().filter_map(|server| server.item.as_ref());
    let mut named = pending.chain(decided).filter(|item| item.name == name).peekable();
    if named.peek().is_none() {
        return Err(AdminProblem::new(
            AdminProblemKind::NoSuchServer,
            format!("nothing is called `{name}`"),
        )
        .with_hint("see `GET /api/v1/workspaces/{workspace}/approvals`"));
    }
    named.find(|item| item.hash() == digest).cloned().ok_or_else(|| {
        AdminProblem::new(
            AdminProblemKind::Changed,
            format!("`{name}` is not what was shown any more"),
        )
        .with_hint("look at it again before you decide")
    })
}

// === impl PendingApproval ===

impl PendingApproval {
    fn from_item(item: &ApprovalItem, changes: Option<Vec<ApprovalChange>>) -> Self {
        Self {
            kind: item.kind,
            name: item.name.clone(),
            at: item.at.clone(),
            content: item.content.clone(),
            changes,
            secrets: item.secrets(),
            digest: item.hash(),
        }
    }
}
