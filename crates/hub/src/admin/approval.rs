//! What a project wants and nobody agreed to yet, and what a person says to it.
//!
//! A decision names the digest of what was shown, so that nobody agrees to something else than what they read. What is
//! shown is the text of the project's file, unexpanded and unmasked: masking could be made to cover a part of a command.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};
use switchboard_config::{Change, Desired, Item, ItemKind, Location};

use super::Admin;
use super::files::{Files, Unchanged};
use super::problem::{Kind, Problem};
use super::routes::{Body, json};

/// Something to decide about.
#[derive(Serialize)]
struct Case {
    kind: ItemKind,
    name: String,
    at: Location,
    /// What it says, as it stands in the file.
    content: Value,
    /// What differs from what was agreed to last.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<Change>>,
    /// Names exactly this.
    digest: String,
}

/// What a person says.
#[derive(Deserialize)]
pub(super) struct Decision {
    name: String,
    digest: String,
    verdict: Verdict,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Approve,
    Reject,
}

/// `GET /workspaces/{id}/approvals`.
pub(super) async fn list(
    State(admin): State<Admin>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let snapshot = Files::of(&admin, &id)?.served.snapshot();
    let pending: Vec<_> = snapshot
        .desired
        .pending
        .iter()
        .map(|pending| Case::of(&pending.item, pending.changes.clone()))
        .collect();
    Ok(json(StatusCode::OK, &value!({ "pending": pending })))
}

/// `POST /workspaces/{id}/approvals`.
pub(super) async fn decide(
    State(admin): State<Admin>,
    Path(id): Path<String>,
    Body(decision): Body<Decision>,
) -> Result<Response, Problem> {
    let files = Files::of(&admin, &id)?;
    let Decision { name, digest, verdict } = decision;
    let doing = match verdict {
        Verdict::Approve => format!("cannot approve `{name}`"),
        Verdict::Reject => format!("cannot reject `{name}`"),
    };
    let deciding = files.change(doing, move |files| {
        // As the files are now, not as they were when somebody looked.
        let item = meant(&files.desired(), &name, &digest)?;
        match verdict {
            Verdict::Approve => files.approve(&[item])?,
            Verdict::Reject => files.reject(&[item])?,
        }
        Ok::<_, Unchanged>(())
    });
    deciding.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The very thing that was shown.
fn meant(desired: &Desired, name: &str, digest: &str) -> Result<Item, Problem> {
    let pending = desired.pending.iter().map(|pending| &pending.item);
    let decided = desired.servers.iter().filter_map(|server| server.item.as_ref());
    let mut named = pending.chain(decided).filter(|item| item.name == name).peekable();
    if named.peek().is_none() {
        return Err(Problem::new(Kind::NoSuchServer, format!("nothing is called `{name}`"))
            .hinted("see `GET /api/v1/workspaces/{workspace}/approvals`"));
    }
    named.find(|item| item.hash() == digest).cloned().ok_or_else(|| {
        Problem::new(Kind::Changed, format!("`{name}` is not what was shown any more"))
            .hinted("look at it again before you decide")
    })
}

// === impl Case ===

impl Case {
    fn of(item: &Item, changes: Option<Vec<Change>>) -> Self {
        Self {
            kind: item.kind,
            name: item.name.clone(),
            at: item.at.clone(),
            content: item.content.clone(),
            changes,
            digest: item.hash(),
        }
    }
}
