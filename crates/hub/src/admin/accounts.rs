//! Routes under `/accounts`: the sign-ins of the store, listed and ended.
//!
//! Used by `routes` and `people`. `crate::accounts` reads the store and ends accounts; people sign in through `sign_in`. No
//! response holds a token.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::json as value;
use switchboard_auth::{SignInRecord, SignInStore, SignInStoreError};
use switchboard_core::WorkspaceId;
use switchboard_core::principal::{LOCAL_PRINCIPAL, Principal};
use switchboard_wire::{error_chain, sanitize};

use super::AdminApi;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::json;
use crate::accounts::{AccountInfo, end_account, list_accounts};

/// `GET /accounts`.
pub(super) async fn list(State(admin): State<AdminApi>) -> Result<Response, AdminProblem> {
    Ok(json(StatusCode::OK, &value!({ "accounts": read(&admin).await? })))
}

/// Reads the accounts of all principals.
pub(super) async fn read(admin: &AdminApi) -> Result<Vec<AccountInfo>, AdminProblem> {
    let accounts = in_store(admin, list_accounts).await?;
    Ok(accounts.into_iter().map(sanitize_account).collect())
}

/// `DELETE /accounts/{id}`: revokes the tokens of an account and forgets it.
pub(super) async fn sign_out(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    end(&admin, &id, None).await
}

/// Ends an account; where `owner` is given, only one of that principal.
pub(super) async fn end(
    admin: &AdminApi,
    id: &str,
    owner: Option<&Principal>,
) -> Result<Response, AdminProblem> {
    let record = find_account(admin, id).await?.filter(|record| {
        let principal = record.principal.as_deref().unwrap_or(LOCAL_PRINCIPAL);
        owner.is_none_or(|owner| **owner.id() == *principal)
    });
    let record = record.ok_or_else(|| no_account(id))?;
    let ended = end_account(&admin.0.host.sign_ins(), id, &record).await;
    let ended = ended.map_err(|error| {
        AdminProblem::new(AdminProblemKind::Failed, "the account cannot be deleted")
            .with_detail(error_chain(&error).join(": "))
    })?;
    let ended = ended.ok_or_else(|| no_account(id))?;
    // Lists and states are those without the account when the response is read.
    for workspace in admin.0.host.workspaces() {
        admin.0.engine.follow_sign_ins(&WorkspaceId::from(&*workspace.id)).await;
    }
    let problem = ended.problem.map(|error| {
        let text = format!("its tokens may still be accepted: {}", error_chain(&error).join(": "));
        sanitize::sanitize_line(&text).into_owned()
    });
    Ok(json(StatusCode::OK, &value!({ "signedOut": true, "problem": problem })))
}

/// The record of an account. Ids are looked up among those of the store, so that none leads to another file.
async fn find_account(admin: &AdminApi, id: &str) -> Result<Option<SignInRecord>, AdminProblem> {
    let id = id.to_owned();
    let record =
        in_store(
            admin,
            move |store| {
                if store.keys()?.contains(&id) { store.load(&id) } else { Ok(None) }
            },
        );
    Ok(record.await?.filter(|record| record.account.is_some()))
}

/// Reads the store on a blocking thread: a keychain may ask the person first.
async fn in_store<T: Send + 'static>(
    admin: &AdminApi,
    read: impl FnOnce(&dyn SignInStore) -> Result<T, SignInStoreError> + Send + 'static,
) -> Result<T, AdminProblem> {
    let store: Arc<dyn SignInStore> = admin.0.host.sign_ins();
    let failed = |detail: String| {
        AdminProblem::new(AdminProblemKind::Failed, "the sign-ins cannot be read")
            .with_detail(detail)
            .with_hint("see `switchboard accounts`")
    };
    let read = tokio::task::spawn_blocking(move || read(&*store)).await;
    let read = read.map_err(|error| failed(error.to_string()))?;
    read.map_err(|error| failed(error_chain(&error).join(": ")))
}

fn no_account(id: &str) -> AdminProblem {
    AdminProblem::new(AdminProblemKind::NoSuchAccount, format!("there is no account `{id}`"))
        .with_detail("it was signed out before, or never signed in")
        .with_hint("see `GET /api/v1/accounts`")
}

/// Sanitizes the texts that servers and authorization servers choose.
fn sanitize_account(account: AccountInfo) -> AccountInfo {
    let line = |text: &str| sanitize::sanitize_line(text).into_owned();
    AccountInfo {
        server: line(&account.server),
        url: line(&account.url),
        issuer: line(&account.issuer),
        scopes: account.scopes.iter().map(|scope| line(scope)).collect(),
        ..account
    }
}
