//! Routes under `/answers`: remembered answers to permission questions, listed and forgotten.
//!
//! Used by `routes`. The command `permissions` edits the file of answers without a hub; the engine notices the change.
//! It does not decide calls (`core::permission` does).

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json as value;
use switchboard_core::permission::{AnswerStoreError, LastingAnswer};
use switchboard_wire::sanitize;

use super::AdminApi;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::json;

/// `GET /answers`.
pub(super) async fn list(State(admin): State<AdminApi>) -> Response {
    let answers: Vec<_> =
        admin.0.engine.memory().lasting_answers().into_iter().map(sanitize_answer).collect();
    json(StatusCode::OK, &value!({ "answers": answers }))
}

/// `DELETE /answers/{id}`: forgets answers by id, by server name, or by `server/tool`.
pub(super) async fn forget(
    State(admin): State<AdminApi>,
    Path(name): Path<String>,
) -> Result<Response, AdminProblem> {
    let memory = admin.0.engine.memory();
    if !memory.lasting_answers().iter().any(|answer| answer.is_named(&name)) {
        return Err(no_answer(&name));
    }
    let meant = name.clone();
    let forgotten = memory.forget(move |answer| answer.is_named(&meant)).await;
    let forgotten = forgotten.map_err(|error| not_forgotten(&error))?;
    if forgotten.is_empty() {
        return Err(no_answer(&name));
    }
    let forgotten: Vec<_> = forgotten.into_iter().map(sanitize_answer).collect();
    Ok(json(StatusCode::OK, &value!({ "forgotten": forgotten })))
}

fn no_answer(name: &str) -> AdminProblem {
    let title = format!("no remembered answer is called `{}`", sanitize::sanitize_line(name));
    AdminProblem::new(AdminProblemKind::NoSuchAnswer, title)
        .with_detail("it was taken back before, or never given")
        .with_hint("see `GET /api/v1/answers`")
}

fn not_forgotten(error: &AnswerStoreError) -> AdminProblem {
    AdminProblem::new(AdminProblemKind::Failed, "the answer cannot be taken back")
        .with_detail(error.problem().message)
}

/// Sanitizes the names of server and tool, which the server chooses.
fn sanitize_answer(answer: LastingAnswer) -> LastingAnswer {
    let line = |text: &str| sanitize::sanitize_line(text).into_owned();
    LastingAnswer { server: line(&answer.server), tool: line(&answer.tool), ..answer }
}
