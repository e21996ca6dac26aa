//! The context of a call that all stages share, and helpers that several stages use: owners of resources, limits,
//! notes.
//!
//! Used by every module of `dispatch`.

use std::sync::Arc;
use std::time::Duration;

use switchboard_wire::json::Raw;
use tokio::time::{Instant, timeout, timeout_at};

use super::find::is_meant;
use super::running_call::CallEventSender;
use super::stage_clock::StageClock;
use super::unseen_pages::UnseenPages;
use super::{CallError, CallOrigin, Request};
use crate::catalog::Tool;
use crate::engine::{AppliedServer, AppliedState, Caller, Inner, log_name_of_spec};
use crate::hooks::HookNote;
use crate::results::{
    AppDataPolicy, LimitedResult, ResultPolicy, ResultShape, SpillTarget, limit_result,
};

/// The context of a call: engine, caller, applied state and event sender.
pub(super) struct Stage {
    pub(super) engine: Arc<Inner>,
    pub(super) caller: Caller,
    /// The state that was applied when the call began.
    pub(super) applied: Arc<AppliedState>,
    pub(super) emit: CallEventSender,
    pub(super) unseen_pages: UnseenPages,
    pub(super) clock: StageClock,
}

/// How long starting servers are waited for, unless the settings say otherwise.
const FIRST_LIST_WAIT: Duration = Duration::from_secs(5);
/// How many resources of one result are remembered.
const MAX_MENTIONS_PER_RESULT: usize = 256;

// === impl Stage ===

impl Stage {
    /// Returns the server to read a resource from: the known owner, else the only server with resources.
    pub(super) async fn owner(
        &self,
        request: &Request,
        uri: &str,
    ) -> Result<Arc<AppliedServer>, CallError> {
        match self.known_owner(request, uri).await? {
            Some(owner) => Ok(owner),
            None => self.presumed_owner(uri),
        }
    }

    /// Returns the known owner of a resource: the named server, else the one that listed the URI, else the one with
    /// a matching template, else the one that mentioned the URI last to this session.
    pub(super) async fn known_owner(
        &self,
        request: &Request,
        uri: &str,
    ) -> Result<Option<Arc<AppliedServer>>, CallError> {
        if let Some(server) = &request.server {
            return self.applied_server(server).map(Some);
        }
        let session = &self.caller.session().id;
        let mentioned = self.caller.workspace().mentioning_server(session, uri);
        let deadline = Instant::now() + self.first_list_wait();
        let mut revisions = self.engine.revisions();
        loop {
            // One snapshot for both questions: a server that is no longer coming in a later snapshot is in its
            // catalog.
            let snapshot = self.snapshot();
            let owner = snapshot.catalog.owner(uri, mentioned.as_deref());
            let found = || owner.map(|owner| self.applied_server(owner)).transpose();
            let is_mentioned = owner.is_some() && owner == mentioned.as_deref();
            // The owner may not be known yet, or a server that stands before the owner in the configuration may have
            // the URI too. All awaited servers are waited for at once: waits for servers that hang would add up.
            let awaited = snapshot.servers_awaited().map(|awaited| awaited.name.as_str());
            let awaited: Vec<&str> =
                awaited.filter(|name| self.comes_before(name, owner)).collect();
            if is_mentioned || awaited.is_empty() {
                return found();
            }
            match timeout_at(deadline, revisions.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return found(),
                Err(_) => {
                    self.mark_overdue(&awaited);
                    return found();
                }
            }
        }
    }

    /// Whether a server stands before the owner of a resource in the configuration. Where there is no owner, every server
    /// does.
    fn comes_before(&self, server: &str, owner: Option<&str>) -> bool {
        let place = |name: &str| self.applied.placed.iter().position(|placed| placed.name == name);
        owner.is_none_or(|owner| place(server) < place(owner))
    }

    /// Notes that these servers were waited for in vain, so that the next request does not wait for them.
    fn mark_overdue(&self, servers: &[&str]) {
        let late = servers.iter().filter_map(|server| self.applied.server(server));
        self.engine.mark_overdue(late.map(|placed| &placed.connection));
    }

    /// Waits for servers with unknown lists, or for one server, as long as a client's first list does.
    pub(super) async fn await_first_lists(&self, server: Option<&str>) {
        let mut revisions = self.engine.revisions();
        let is_awaited = || {
            let snapshot = self.snapshot();
            snapshot.servers_awaited().any(|awaited| is_meant(server, &awaited.name))
        };
        let coming = async { while is_awaited() && revisions.changed().await.is_ok() {} };
        // Servers that are late are left out.
        let _ = timeout(self.first_list_wait(), coming).await;
    }

    /// How long a client's first list waits for starting servers. Lookups that any server could answer wait equally
    /// long.
    fn first_list_wait(&self) -> Duration {
        let millis = self.applied.desired.settings.limits.first_list_wait_ms;
        millis.map_or(FIRST_LIST_WAIT, Duration::from_millis).min(self.engine.connect_timeout())
    }

    /// Returns the server of a resource that no server mentions: the only one with resources. Servers need not list
    /// all their resources.
    fn presumed_owner(&self, uri: &str) -> Result<Arc<AppliedServer>, CallError> {
        let (uri, snapshot) = (uri.to_owned(), self.snapshot());
        let with_resources: Vec<String> =
            snapshot.servers_with_resources().map(str::to_owned).collect();
        match &with_resources[..] {
            [] => Err(CallError::NotFound { name: uri, similar: Vec::new() }),
            [only] => self.applied_server(only),
            _ => Err(CallError::UnmentionedResource { uri, servers: with_resources }),
        }
    }

    /// Remembers which resources a result mentions, so that they are read from this server.
    pub(super) fn mention(&self, placed: &AppliedServer, result: &Raw) {
        // Most results mention none, and a large result should not be parsed to find that out.
        if memchr::memmem::find(result.as_str().as_bytes(), b"uri").is_none() {
            return;
        }
        let links = ["content", "contents", "messages"]
            .into_iter()
            .filter_map(|key| result.get(key).ok().flatten())
            .flat_map(|list| list.elements().collect::<Vec<_>>())
            // The messages of a prompt hold one content each.
            .map(|item| item.get("content").ok().flatten().unwrap_or(item));
        let uri = |item: &Raw| {
            let nested = item.get_path(&["resource", "uri"]).ok().flatten();
            nested.or_else(|| item.get("uri").ok().flatten())?.to_text()
        };
        for uri in links.take(MAX_MENTIONS_PER_RESULT).filter_map(|item| uri(&item)) {
            self.caller.workspace().remember_mention(&self.caller.session().id, &uri, &placed.name);
        }
    }

    /// Limits a result. Without a store for spilled results, long text is cut.
    pub(super) async fn limit(
        &self,
        shape: ResultShape,
        policy: ResultPolicy,
        result: Raw,
    ) -> LimitedResult {
        let place = || {
            let owner = self.caller.session().principal.id();
            Some(SpillTarget { store: self.engine.store.clone()?, owner: owner.to_string() })
        };
        limit_result(result, shape, &policy, place).await
    }

    /// Returns the result policy: the session's, with the limits of settings and environment.
    pub(super) fn policy(&self) -> ResultPolicy {
        let limits = &self.applied.desired.settings.limits;
        let policy = self.caller.session().results;
        let policy = policy.with_image_limits(limits.image_pixels, limits.image_bytes);
        match self.applied.numbers.output_tokens(self.caller.session().variables) {
            Some(tokens) => policy.with_usual_tokens(tokens),
            None => policy,
        }
    }

    /// Returns the policy for results of a tool. What goes to an app does not go to a model, so it is not limited.
    pub(super) fn tool_policy(&self, tool: &Tool, origin: CallOrigin) -> ResultPolicy {
        let policy = self.policy().for_tool(tool);
        match origin {
            CallOrigin::App => ResultPolicy::unlimited(),
            CallOrigin::AppHost if !tool.ui.visibility.model => ResultPolicy::unlimited(),
            CallOrigin::AppHost if tool.ui.resource.is_some() => {
                ResultPolicy { app_data: AppDataPolicy::Leave, ..policy }
            }
            _ => policy,
        }
    }

    /// Writes the notes of hooks to the server's log.
    pub(super) fn note(&self, placed: &AppliedServer, notes: &[HookNote]) {
        for note in notes {
            tracing::warn!(server = %placed.name, at = %note.at, "a hook: {}", note.message);
            if let Some(logs) = &self.engine.logs {
                let line = format!("hook at {}: {}", note.at, note.message);
                logs.write_note(&placed.name, &log_name_of_spec(&placed.spec), &line);
            }
        }
    }
}
