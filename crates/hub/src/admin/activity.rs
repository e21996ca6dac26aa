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
use switchboard_config::mask;
use switchboard_core::audit::{self, Called, Entry, Filter, Line};
use switchboard_core::engine::{Answer, Said};
use switchboard_core::told::Failure;
use switchboard_wire::sanitize;

use super::Admin;
use super::files::restored;
use super::problem::{Kind, Problem};
use super::routes::{json, param};

/// Calls that are told unless asked otherwise, and at most.
const CALLS: usize = 200;
const MOST: usize = 10_000;
/// Parameters that are not the caller's own words: what a call that is made again brings along.
const NOT_SAID: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// A record, with the name under which it is found what the call said.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

/// `POST /activity/settle`: has written down what has ended. Whoever reads the log then finds it there.
pub(super) async fn settle(State(admin): State<Admin>) -> StatusCode {
    admin.0.engine.settle_audit().await;
    StatusCode::NO_CONTENT
}

/// `GET /activity`: the latest calls, oldest first.
pub(super) async fn list(State(admin): State<Admin>, uri: Uri) -> Result<Response, Problem> {
    let engine = &admin.0.engine;
    let Some(logs) = engine.logs() else {
        return Err(Problem::new(Kind::Failed, "no logs are kept")
            .hinted("see `problems` of a workspace's snapshot"));
    };
    let filter = match param(&uri, "server") {
        Some(server) => Filter::default().of_server(server),
        None => Filter::default(),
    };
    engine.settle_audit().await;
    let most = param(&uri, "calls").and_then(|calls| calls.parse().ok()).unwrap_or(CALLS);
    let history = audit::history(logs.folder(), filter, most.min(MOST)).await;
    let history = history.map_err(|error| {
        Problem::new(Kind::Failed, "the audit log cannot be read").detailed(error.to_string())
    })?;
    let kept: Vec<_> = engine.kept_calls().iter().filter_map(|called| recorded(called)).collect();
    let listed = |entry| Listed { entry, id: kept_as(&kept, entry) };
    let calls: Vec<_> = history.entries.iter().map(listed).collect();
    let told = value!({ "calls": calls, "unreadable": history.unreadable });
    Ok(json(StatusCode::OK, &told))
}

/// A call as the log has it, and its name here.
fn recorded(called: &Called) -> Option<(Line, String)> {
    Some((Line::of(called), id(called)?))
}

/// The log knows no names; two calls whose records are the same to the last byte are the same to whoever reads them.
fn kept_as(kept: &[(Line, String)], entry: &Entry) -> Option<String> {
    let Entry::Call(line) = entry else { return None };
    kept.iter().rev().find(|(kept, _)| *kept == **line).map(|(_, id)| id.clone())
}

/// The name under which it is found what a call said.
pub(super) fn id(called: &Called) -> Option<String> {
    called.kept.map(|number| number.to_string())
}

/// `GET /activity/{id}`: what a call said, and what came of it.
pub(super) async fn show(
    State(admin): State<Admin>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let said = said(&admin, &id)?;
    let mut told = Map::new();
    told.insert("call".to_owned(), value!(Line::of(&said.called)));
    told.extend(params(&said).map(|params| ("params".to_owned(), shown(&params))));
    match &said.answer {
        Answer::Result(result) => {
            told.insert("result".to_owned(), shown(&parsed(result)));
        }
        Answer::Error(error) => {
            let failure = Failure::of(error, &*admin.0.advice);
            told.insert("error".to_owned(), value!(failure.error));
        }
        Answer::None | Answer::TooLong => {}
    }
    Ok(json(StatusCode::OK, &told))
}

fn said(admin: &Admin, id: &str) -> Result<Arc<Said>, Problem> {
    let said = id.parse().ok().and_then(|number| admin.0.engine.said(number));
    said.ok_or_else(|| {
        Problem::new(Kind::NoSuchCall, format!("it is not kept what call `{id}` said"))
            .detailed("only the latest calls are kept, and only while somebody looks")
            .hinted("calls that can be opened have an `id` in `GET /api/v1/activity`")
    })
}

/// Parameters as they were shown, with what was hidden in them as it was.
pub(super) fn repeated(admin: &Admin, id: &str, sent: &Value) -> Result<Value, Problem> {
    let written = params(&*said(admin, id)?).unwrap_or_default();
    Ok(restored(sent, &shown(&written), &written))
}

fn params(said: &Said) -> Option<Value> {
    let mut params = parsed(said.params.as_deref()?);
    if let Value::Object(members) = &mut params {
        members.retain(|name, _| !NOT_SAID.contains(&name.as_str()));
    }
    Some(params)
}

/// What a call carries is JSON, or it would not have been one.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Without what looks like a secret, in clean words.
fn shown(value: &Value) -> Value {
    let mut shown = mask::masked(value);
    clean(&mut shown);
    shown
}

/// Words of others, without what acts on whoever reads them.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cleaned) = sanitize::block(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(members) => members.values_mut().for_each(clean),
        _ => {}
    }
}
