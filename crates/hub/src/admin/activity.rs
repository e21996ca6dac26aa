//! What was called: read back from the audit log, and of the latest calls what they said.
//!
//! What they said is kept by the engine while somebody follows the events, in memory and nowhere else. It leaves here
//! without what looks like a secret, by the same rules as everything else that is shown.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::{Map, Value, json as value};
use switchboard_config::redact;
use switchboard_core::audit::{self, AuditCallLine, AuditEntry, AuditFilter, CallRecord};
use switchboard_core::engine::{RecentCall, RecentCallResult};
use switchboard_core::remote::RemoteCallError;
use switchboard_wire::sanitize;

use super::AdminApi;
use super::files::restore_redacted;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{json, query_param};

/// Calls that are told unless asked otherwise, and at most.
const DEFAULT_CALLS_LISTED: usize = 200;
const MAX_CALLS_LISTED: usize = 10_000;
/// Parameters that are not the caller's own words: what a call that is made again brings along.
const HIDDEN_PARAMS: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// A record, with the name under which it is found what the call said.
#[derive(Serialize)]
struct ActivityEntry<'a> {
    #[serde(flatten)]
    entry: &'a AuditEntry,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// `POST /activity/settle`: has written down what has ended. Whoever reads the log then finds it there.
pub(super) async fn settle(State(admin): State<AdminApi>) -> StatusCode {
    admin.0.engine.settle_audit().await;
    StatusCode::NO_CONTENT
}

/// `GET /activity`: the latest calls, oldest first.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let engine = &admin.0.engine;
    let Some(logs) = engine.logs() else {
        return Err(AdminProblem::new(AdminProblemKind::Failed, "no logs are kept")
            .with_hint("see `problems` of a workspace's snapshot"));
    };
    let filter = match query_param(&uri, "server") {
        Some(server) => AuditFilter::default().of_server(server),
        None => AuditFilter::default(),
    };
    engine.settle_audit().await;
    let most = query_param(&uri, "calls")
        .and_then(|calls| calls.parse().ok())
        .unwrap_or(DEFAULT_CALLS_LISTED);
    let history = audit::read_audit_log(logs.folder(), filter, most.min(MAX_CALLS_LISTED)).await;
    let history = history.map_err(|error| {
        AdminProblem::new(AdminProblemKind::Failed, "the audit log cannot be read")
            .with_detail(error.to_string())
    })?;
    let kept: Vec<_> =
        engine.recent_calls().iter().filter_map(|called| record_with_id(called)).collect();
    let listed = |entry| ActivityEntry { entry, id: find_kept_id(&kept, entry) };
    let calls: Vec<_> = history.entries.iter().map(listed).collect();
    let told = value!({ "calls": calls, "unreadable": history.unreadable });
    Ok(json(StatusCode::OK, &told))
}

/// A call as the log has it, and its name here.
fn record_with_id(called: &CallRecord) -> Option<(AuditCallLine, String)> {
    Some((AuditCallLine::from_record(called), call_id(called)?))
}

/// The log knows no names; two calls whose records are the same to the last byte are the same to whoever reads them.
fn find_kept_id(kept: &[(AuditCallLine, String)], entry: &AuditEntry) -> Option<String> {
    let AuditEntry::Call(line) = entry else { return None };
    kept.iter().rev().find(|(kept, _)| *kept == **line).map(|(_, id)| id.clone())
}

/// The name under which it is found what a call said.
pub(super) fn call_id(called: &CallRecord) -> Option<String> {
    called.kept.map(|number| number.to_string())
}

/// `GET /activity/{id}`: what a call said, and what came of it.
pub(super) async fn show(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
) -> Result<Response, AdminProblem> {
    let said = find_kept_call(&admin, &id)?;
    let mut told = Map::new();
    told.insert("call".to_owned(), value!(AuditCallLine::from_record(&said.called)));
    told.extend(params(&said).map(|params| ("params".to_owned(), redact(&params))));
    match &said.answer {
        RecentCallResult::Result(result) => {
            told.insert("result".to_owned(), redact(&parse_json(result)));
        }
        RecentCallResult::Error(error) => {
            let failure = RemoteCallError::from_call_error(error, &*admin.0.advice);
            told.insert("error".to_owned(), value!(failure.error));
        }
        RecentCallResult::None | RecentCallResult::TooLong => {}
    }
    Ok(json(StatusCode::OK, &told))
}

fn find_kept_call(admin: &AdminApi, id: &str) -> Result<Arc<RecentCall>, AdminProblem> {
    let said = id.parse().ok().and_then(|number| admin.0.engine.recent_call(number));
    said.ok_or_else(|| {
        AdminProblem::new(
            AdminProblemKind::NoSuchCall,
            format!("it is not kept what call `{id}` said"),
        )
        .with_detail("only the latest calls are kept, and only while somebody looks")
        .with_hint("calls that can be opened have an `id` in `GET /api/v1/activity`")
    })
}

/// Parameters as they were shown, with what was hidden in them as it was.
pub(super) fn restore_params(
    admin: &AdminApi,
    id: &str,
    sent: &Value,
) -> Result<Value, AdminProblem> {
    let written = params(&*find_kept_call(admin, id)?).unwrap_or_default();
    Ok(restore_redacted(sent, &redact(&written), &written))
}

fn params(said: &RecentCall) -> Option<Value> {
    let mut params = parse_json(said.params.as_deref()?);
    if let Value::Object(members) = &mut params {
        members.retain(|name, _| !HIDDEN_PARAMS.contains(&name.as_str()));
    }
    Some(params)
}

/// What a call carries is JSON, or it would not have been one.
fn parse_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Without what looks like a secret, in clean words.
fn redact(value: &Value) -> Value {
    let mut shown = redact::redact_entry(value);
    sanitize_value(&mut shown);
    shown
}

/// Words of others, without what acts on whoever reads them.
fn sanitize_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cleaned) = sanitize::sanitize_block(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(sanitize_value),
        Value::Object(members) => members.values_mut().for_each(sanitize_value),
        _ => {}
    }
}
