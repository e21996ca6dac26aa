//! Routes `sign-in` and `sign-out` of a server.
//!
//! Used by `routes`. It does not run the OAuth flow (`auth` does, through `core::connection`).

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json as value;
use switchboard_config::command_line;
use switchboard_core::WorkspaceId;
use switchboard_core::connection::SignInError;
use switchboard_wire::http::SignOutOutcome;

use super::AdminApi;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::json;

/// `GET /workspaces/{id}/servers/{name}/sign-in`: the stored sign-in, without its tokens.
pub(super) async fn show(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let known = admin.0.engine.sign_in_info(&WorkspaceId::from(&*id), &name).await;
    let known = known.ok_or_else(|| AdminProblem::no_server(&name))?;
    let known = known.map(|known| {
        value!({
            "issuer": known.issuer, "scopes": known.scopes, "signedInAt": known.signed_in_at,
            "expiresAt": known.expires_at, "renewable": known.is_renewable,
        })
    });
    Ok(json(StatusCode::OK, &value!({ "signIn": known })))
}

/// `POST /workspaces/{id}/servers/{name}/sign-in`: the URL at which the person continues. The response does not wait
/// for the sign-in; the server's state shows when it is complete.
pub(super) async fn begin(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let began = admin.0.engine.sign_in(&WorkspaceId::from(&*id), &name).await;
    let began = began.ok_or_else(|| AdminProblem::no_server(&name))?;
    let url = began.map_err(|error| {
        let hint = format!("`{}` says what was tried", command_line("doctor auth", [&name]));
        sign_in_problem(format!("cannot sign in to `{name}` here"), &error).with_hint(hint)
    })?;
    Ok(json(StatusCode::OK, &value!({ "url": url })))
}

/// `POST /workspaces/{id}/servers/{name}/sign-out`.
pub(super) async fn end(
    State(admin): State<AdminApi>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, AdminProblem> {
    let ended = admin.0.engine.sign_out(&WorkspaceId::from(&*id), &name).await;
    let ended = ended.ok_or_else(|| AdminProblem::no_server(&name))?;
    let ended = ended.map_err(|error| {
        let hint = format!("`{}` does the same", command_line("logout", [&name]));
        sign_in_problem(format!("cannot sign out of `{name}`"), &error).with_hint(hint)
    })?;
    let (signed_out, problem) = match ended {
        SignOutOutcome::Nobody => (false, None),
        SignOutOutcome::Ended => (true, None),
        SignOutOutcome::Forgotten { why } => {
            (true, Some(format!("its tokens may still be accepted: {why}")))
        }
    };
    let problem = problem.map(|text| switchboard_wire::sanitize::sanitize_line(&text).into_owned());
    Ok(json(StatusCode::OK, &value!({ "signedOut": signed_out, "problem": problem })))
}

fn sign_in_problem(what: String, error: &SignInError) -> AdminProblem {
    let kind = match error {
        SignInError::Silent { .. } => AdminProblemKind::TooSlow,
        _ => AdminProblemKind::Refused,
    };
    AdminProblem::new(kind, what).with_detail(error.to_string())
}
