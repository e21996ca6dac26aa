//! `skills/list` of a view of several servers: all their skills, page by page.
//!
//! Used by `view`. A page of the view is one page of each server that has more, read concurrently. The cursor
//! holds the servers with further pages and their own cursors, so nothing is kept here. A server that fails or is
//! slow costs its own skills, with a reason in `_meta`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::json;
use switchboard_core::{Caller, Request};
use switchboard_wire::envelope::{RpcError, code};
use switchboard_wire::json::{JsonEdit, Raw, quote};
use switchboard_wire::meta::method;
use switchboard_wire::server::{HandlerReply, HandlerRequest, RequestContext};

use super::entry_with_addresses;
use crate::bridge::view::BridgeView;
use crate::bridge::{call, refusal};

/// The `_meta` key for servers whose skills are missing or incomplete.
const UNLISTED_KEY: &str = "switchboard/unlisted";
/// The number of servers that are asked concurrently.
const MAX_CONCURRENT_PAGES: usize = 16;
/// The longest cursor of a server that is handed on.
const MAX_SERVER_CURSOR_BYTES: usize = 4096;
/// The longest cursor of a client that is decoded.
const MAX_CURSOR_BYTES: usize = 4 << 20;

/// A page that is to be read.
struct PageRequest {
    server: String,
    /// The server's own cursor; `None` for its first page.
    cursor: Option<String>,
}

/// A page that was read, or not.
struct SkillPage {
    server: String,
    /// The server's result, unless it failed.
    result: Option<Raw>,
    skills: Vec<Raw>,
    next: Option<String>,
    /// The missing servers, with the reason for each.
    problem: Option<String>,
}

// === impl BridgeView ===

impl BridgeView {
    /// Answers `skills/list` in a view of several servers.
    pub(in crate::bridge) async fn list_skills(
        &self,
        asked: &HandlerRequest,
        context: &RequestContext,
    ) -> Result<HandlerReply, RpcError> {
        // This may be the first request of the client.
        self.await_servers().await?;
        let caller = self.caller(context)?;
        let servers = self.skill_servers();
        let wanted = match asked.params.get("cursor").ok().flatten() {
            Some(cursor) => decode_cursor(&cursor)?,
            None if servers.is_empty() => {
                let text = format!("Method not found: {}", asked.method);
                return Err(RpcError::new(code::METHOD_NOT_FOUND, text));
            }
            None => {
                let first = |server| PageRequest { server, cursor: None };
                servers.iter().cloned().map(first).collect()
            }
        };
        let reading = wanted.into_iter().map(|page| async {
            if servers.contains(&page.server) {
                self.read_page(&caller, asked, page).await
            } else {
                SkillPage::failed(page.server, "it has no skills here now".to_owned())
            }
        });
        let pages: Vec<SkillPage> =
            stream::iter(reading).buffered(MAX_CONCURRENT_PAGES).collect().await;
        Ok(HandlerReply::Complete(merged(&pages)))
    }

    async fn read_page(
        &self,
        caller: &Caller,
        asked: &HandlerRequest,
        PageRequest { server, cursor }: PageRequest,
    ) -> SkillPage {
        let quoted = cursor.as_deref().map(quote);
        let edit = match &quoted {
            Some(cursor) => JsonEdit::set(&["cursor"], cursor),
            None => JsonEdit::remove(&["cursor"]),
        };
        let params = match asked.params.with_edits(&[edit]) {
            Ok(params) => params,
            Err(error) => return SkillPage::failed(server, error.to_string()),
        };
        let request = Request::forward(method::SKILLS_LIST, Some(params)).of_server(&*server);
        let patience = self.bridge().options.first_list;
        let running = self.bridge().engine.call(caller, request);
        match tokio::time::timeout(patience, running.outcome()).await {
            Ok(Ok(outcome)) => SkillPage::read(server, cursor.as_deref(), outcome.result),
            Ok(Err(error)) => SkillPage::failed(server, refusal::error_chain(&error)),
            Err(_) => SkillPage::failed(server, no_answer(patience)),
        }
    }
}

fn no_answer(patience: Duration) -> String {
    format!("it did not answer within {patience:?}")
}

// === impl SkillPage ===

impl SkillPage {
    fn failed(server: String, problem: String) -> Self {
        tracing::warn!(%server, %problem, "skills were not listed");
        Self { server, result: None, skills: Vec::new(), next: None, problem: Some(problem) }
    }

    fn read(server: String, cursor: Option<&str>, result: Raw) -> Self {
        let entries = result.get("skills").ok().flatten();
        let Some(entries) = entries.filter(|entries| entries.as_str().starts_with('[')) else {
            return Self::failed(server, "its result has no list `skills`".to_owned());
        };
        let mut skills = Vec::new();
        let mut unaddressable = 0;
        for entry in entries.elements() {
            match entry_with_addresses(&entry, &server) {
                Some(entry) => skills.push(entry),
                None => unaddressable += 1,
            }
        }
        let next = result.get("nextCursor").ok().flatten().and_then(|next| next.to_text());
        let is_repeated = next.is_some() && next.as_deref() == cursor;
        let is_long = next.as_ref().is_some_and(|next| next.len() > MAX_SERVER_CURSOR_BYTES);
        let problem = if is_repeated {
            Some("it gives the same `nextCursor` again".to_owned())
        } else if is_long {
            Some(format!("its `nextCursor` is longer than {MAX_SERVER_CURSOR_BYTES} bytes"))
        } else if unaddressable > 0 {
            Some(format!("{unaddressable} of its entries have no `uri` with `://`"))
        } else {
            None
        };
        let next = next.filter(|_| !is_repeated && !is_long);
        Self { server, result: Some(result), skills, next, problem }
    }

    /// How long the page may be cached, in milliseconds.
    fn ttl_millis(&self) -> u64 {
        let result = self.result.as_ref().filter(|_| self.problem.is_none());
        let ttl = result.and_then(|result| result.get("ttlMs").ok().flatten());
        ttl.and_then(|ttl| ttl.decode().ok()).unwrap_or(0)
    }
}

/// One result from the pages of all servers. That of a single server keeps the members that are unknown here.
fn merged(pages: &[SkillPage]) -> Raw {
    let skills = Raw::array(pages.iter().flat_map(|page| &page.skills));
    let next = encode_cursor(pages).map(|cursor| quote(&cursor));
    let ttl = pages.iter().map(SkillPage::ttl_millis).min().unwrap_or(0).to_string();
    let unlisted: Vec<_> = pages
        .iter()
        .filter_map(|page| {
            let reason = page.problem.as_ref()?;
            Some(json!({ "server": page.server, "reason": reason }))
        })
        .collect();
    let unlisted_text = Raw::from(json!(unlisted));
    let mut edits = vec![
        JsonEdit::set(&["skills"], skills.as_str()),
        match &next {
            Some(next) => JsonEdit::set(&["nextCursor"], next),
            None => JsonEdit::remove(&["nextCursor"]),
        },
        JsonEdit::set(&["ttlMs"], &ttl),
        // The list is that of one principal's servers.
        JsonEdit::set(&["cacheScope"], r#""private""#),
    ];
    if !unlisted.is_empty() {
        edits.push(JsonEdit::set(&["_meta", UNLISTED_KEY], unlisted_text.as_str()));
    }
    let base = match pages {
        [SkillPage { result: Some(only), .. }] => only.clone(),
        _ => Raw::empty_object(),
    };
    base.overwrite(&edits)
}

/// The cursor for the next page; `None` if no server has one.
fn encode_cursor(pages: &[SkillPage]) -> Option<String> {
    let further: Vec<(&str, &str)> =
        pages.iter().filter_map(|page| Some((&*page.server, page.next.as_deref()?))).collect();
    if further.is_empty() {
        return None;
    }
    Some(URL_SAFE_NO_PAD.encode(json!(further).to_string()))
}

fn decode_cursor(cursor: &Raw) -> Result<Vec<PageRequest>, RpcError> {
    let bad =
        || call::invalid_params("`cursor` is none that `skills/list` gave; list again without it");
    let text = cursor.to_text().filter(|text| text.len() <= MAX_CURSOR_BYTES).ok_or_else(bad)?;
    let decoded = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    let further: Vec<(String, String)> = serde_json::from_slice(&decoded).map_err(|_| bad())?;
    let mut names: Vec<&str> = further.iter().map(|(server, _)| &**server).collect();
    names.sort_unstable();
    if names.is_empty() || names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(bad());
    }
    let page = |(server, cursor)| PageRequest { server, cursor: Some(cursor) };
    Ok(further.into_iter().map(page).collect())
}
