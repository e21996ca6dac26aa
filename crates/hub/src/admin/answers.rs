//! Remembered answers to permission questions, as people look at them and take them back.
//!
//! The command line works on the same file without the hub; the engine notices what it changed.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json as value;
use switchboard_core::permission::{AnswerError, LastingAnswer};
use switchboard_wire::sanitize;

use super::Admin;
use super::problem::{Kind, Problem};
use super::routes::json;

/// `GET /answers`.
pub(super) async fn list(State(admin): State<Admin>) -> Response {
    let answers: Vec<_> = admin.0.engine.memory().lasting().into_iter().map(clean).collect();
    json(StatusCode::OK, &value!({ "answers": answers }))
}

/// `DELETE /answers/{id}`: the id of one, a server's name, or `server/tool`.
pub(super) async fn forget(
    State(admin): State<Admin>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let memory = admin.0.engine.memory();
    if !memory.lasting().iter().any(|answer| answer.is_named(&name)) {
        return Err(no_answer(&name));
    }
    let meant = name.clone();
    let forgotten = memory.forget(move |answer| answer.is_named(&meant)).await;
    let forgotten = forgotten.map_err(|error| not_forgotten(&error))?;
    if forgotten.is_empty() {
        return Err(no_answer(&name));
    }
    let forgotten: Vec<_> = forgotten.into_iter().map(clean).collect();
    Ok(json(StatusCode::OK, &value!({ "forgotten": forgotten })))
}

fn no_answer(name: &str) -> Problem {
    let title = format!("no remembered answer is called `{}`", sanitize::line(name));
    Problem::new(Kind::NoSuchAnswer, title)
        .detailed("it was taken back before, or never given")
        .hinted("see `GET /api/v1/answers`")
}

fn not_forgotten(error: &AnswerError) -> Problem {
    Problem::new(Kind::Failed, "the answer cannot be taken back").detailed(error.problem().message)
}

/// Servers and their tools choose these names.
fn clean(answer: LastingAnswer) -> LastingAnswer {
    let line = |text: &str| sanitize::line(text).into_owned();
    LastingAnswer { server: line(&answer.server), tool: line(&answer.tool), ..answer }
}
