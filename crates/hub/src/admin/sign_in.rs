//! Signing in to a server and out of it.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json as value;
use switchboard_config::command_line;
use switchboard_core::WorkspaceId;
use switchboard_core::connection::SignInError;
use switchboard_wire::http::SignedOut;

use super::Admin;
use super::problem::{Kind, Problem};
use super::routes::json;

/// `POST /workspaces/{id}/servers/{name}/sign-in`: where somebody goes on. Nobody waits for them here; the server's
/// state says when they are done.
pub(super) async fn begin(
    State(admin): State<Admin>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let began = admin.0.engine.sign_in(&WorkspaceId::from(&*id), &name).await;
    let began = began.ok_or_else(|| Problem::no_server(&name))?;
    let url = began.map_err(|error| {
        let hint = format!("`{}` says what was tried", command_line("doctor auth", [&name]));
        refused(format!("nobody can sign in to `{name}` from here"), &error).hinted(hint)
    })?;
    Ok(json(StatusCode::OK, &value!({ "url": url })))
}

/// `POST /workspaces/{id}/servers/{name}/sign-out`.
pub(super) async fn end(
    State(admin): State<Admin>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let ended = admin.0.engine.sign_out(&WorkspaceId::from(&*id), &name).await;
    let ended = ended.ok_or_else(|| Problem::no_server(&name))?;
    let ended = ended.map_err(|error| {
        let hint = format!("`{}` does the same", command_line("logout", [&name]));
        refused(format!("cannot sign out of `{name}`"), &error).hinted(hint)
    })?;
    let (signed_out, problem) = match ended {
        SignedOut::Nobody => (false, None),
        SignedOut::Ended => (true, None),
        SignedOut::Forgotten { why } => {
            (true, Some(format!("its tokens may still be accepted: {why}")))
        }
    };
    let problem = problem.map(|text| switchboard_wire::sanitize::line(&text).into_owned());
    Ok(json(StatusCode::OK, &value!({ "signedOut": signed_out, "problem": problem })))
}

fn refused(what: String, error: &SignInError) -> Problem {
    let kind = match error {
        SignInError::Silent { .. } => Kind::TooSlow,
        _ => Kind::Refused,
    };
    Problem::new(kind, what).detailed(error.to_string())
}
