//! Routes under `/activity`: past calls from the audit log, and parameters and results of the latest calls.
//!
//! Parameters and results are kept by the engine in memory, while a client follows the events, and in no file. They
//! leave here redacted, by the rules for every entry that is shown.
//!
//! Used by `routes`, `events` and `call` (to repeat a call). It does not write the audit log (`core::audit` does).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::{Map, Value, json as value};
use switchboard_config::redact;
use switchboard_core::audit::{
    self, AuditCallLine, AuditEntry, AuditFilter, AuditHistory, CallRecord, CallStage,
};
use switchboard_core::engine::{RecentCall, RecentCallResult};
use switchboard_core::remote::RemoteCallError;
use switchboard_wire::{error_chain, sanitize};

use super::AdminApi;
use super::files::restore_redacted;
use super::problem::{AdminProblem, AdminProblemKind};
use super::routes::{json, query_param};

/// Calls that are listed by default, and at most.
const DEFAULT_CALLS_LISTED: usize = 200;
const MAX_CALLS_LISTED: usize = 10_000;
/// Parameters that the protocol adds to a repeated call; they are not shown.
const HIDDEN_PARAMS: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// A line of the audit log, with the id of the kept call if its parameters and result are kept.
#[derive(Serialize)]
struct ActivityEntry<'a> {
    #[serde(flatten)]
    entry: &'a AuditEntry,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// `POST /activity/settle`: waits until ended calls are written to the audit log, so that a reader finds them there.
pub(super) async fn settle(State(admin): State<AdminApi>) -> StatusCode {
    admin.0.engine.settle_audit().await;
    StatusCode::NO_CONTENT
}

/// `GET /activity`: the latest calls, oldest first.
pub(super) async fn list(
    State(admin): State<AdminApi>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let history = read_history(&admin, AuditFilter::default(), &uri).await?;
    let engine = &admin.0.engine;
    let kept: Vec<_> =
        engine.recent_calls().iter().filter_map(|called| record_with_id(called)).collect();
    let listed = |entry| ActivityEntry { entry, id: find_kept_id(&kept, entry) };
    let calls: Vec<_> = history.entries.iter().map(listed).collect();
    let told = value!({ "calls": calls, "unreadable": history.unreadable });
    Ok(json(StatusCode::OK, &told))
}

/// Reads the latest calls that `filter` selects, of the server and in the number that the request asks for.
pub(super) async fn read_history(
    admin: &AdminApi,
    filter: AuditFilter,
    uri: &Uri,
) -> Result<AuditHistory, AdminProblem> {
    let engine = &admin.0.engine;
    let Some(logs) = engine.logs() else {
        return Err(AdminProblem::new(AdminProblemKind::Failed, "no logs are kept")
            .with_hint("see `problems` of a workspace's snapshot"));
    };
    let filter = match query_param(uri, "server") {
        Some(server) => filter.of_server(server),
        None => filter,
    };
    engine.settle_audit().await;
    let most = query_param(uri, "calls")
        .and_then(|calls| calls.parse().ok())
        .unwrap_or(DEFAULT_CALLS_LISTED);
    let history = audit::read_audit_log(logs.folder(), filter, most.min(MAX_CALLS_LISTED)).await;
    history.map_err(|error| {
        AdminProblem::new(AdminProblemKind::Failed, "the audit log cannot be read")
            .with_detail(error.to_string())
    })
}

/// A call as the audit log has it, and its id.
fn record_with_id(called: &CallRecord) -> Option<(AuditCallLine, String)> {
    Some((AuditCallLine::from_record(called), call_id(called)?))
}

/// Finds the id of a line of the audit log, which stores no ids. Lines are compared as a whole: if two calls have equal
/// lines, either id will do.
fn find_kept_id(kept: &[(AuditCallLine, String)], entry: &AuditEntry) -> Option<String> {
    let AuditEntry::Call(line) = entry else { return None };
    kept.iter().rev().find(|(kept, _)| *kept == **line).map(|(_, id)| id.clone())
}

/// The id of a call with kept parameters and result.
pub(super) fn call_id(called: &CallRecord) -> Option<String> {
    called.recent_id.map(|number| number.to_string())
}

/// `GET /activity/{id}`: parameters, result and stages of a call. `?raw=1` asks for the messages as they were.
pub(super) async fn show(
    State(admin): State<AdminApi>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, AdminProblem> {
    let said = find_kept_call(&admin, &id)?;
    if query_param(&uri, "raw").is_some() {
        return Ok(json(StatusCode::OK, &raw_messages(&said)));
    }
    let mut told = Map::new();
    told.insert("call".to_owned(), value!(AuditCallLine::from_record(&said.called)));
    told.insert("stages".to_owned(), stages(&said.called));
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

/// How long each stage took, in order; stages that took no time are left out.
fn stages(called: &CallRecord) -> Value {
    let stage = |(stage, took): (CallStage, Duration)| {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        value!({ "stage": stage.name(), "micros": micros })
    };
    called.stages.iter().map(stage).collect()
}

/// The texts of a call, unchanged. Credentials are in no text: they travel in headers and environments. Only the person
/// who runs the hub gets here, and only calls of that person are kept.
fn raw_messages(said: &RecentCall) -> Value {
    let response = match &said.answer {
        RecentCallResult::Result(result) => Some(value!(result)),
        RecentCallResult::Error(error) => Some(value!(error_chain(&**error).join(": "))),
        RecentCallResult::None | RecentCallResult::TooLong => None,
    };
    let mut told = Map::new();
    told.extend(said.params.as_ref().map(|params| ("request".to_owned(), value!(params))));
    told.extend(response.map(|response| ("response".to_owned(), response)));
    Value::Object(told)
}

fn find_kept_call(admin: &AdminApi, id: &str) -> Result<Arc<RecentCall>, AdminProblem> {
    let said = id.parse().ok().and_then(|number| admin.0.engine.recent_call(number));
    said.ok_or_else(|| {
        AdminProblem::new(
            AdminProblemKind::NoSuchCall,
            format!("the messages of call `{id}` are not kept"),
        )
        .with_detail(
            "the hub keeps the messages of the latest calls, while a page follows the events",
        )
        .with_hint("calls that can be opened have an `id` in `GET /api/v1/activity`")
    })
}

/// Parameters that a client sends back after they were shown redacted, with the redacted values restored.
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

/// Parses parameters or a result; both were valid JSON when they were kept.
fn parse_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Hides secrets and sanitizes all texts.
fn redact(value: &Value) -> Value {
    let mut shown = redact::redact_entry(value);
    sanitize_value(&mut shown);
    shown
}

/// Removes control characters from every text, so that it cannot act on a terminal.
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
