//! Everything a stage may need, and the small things that several of them do.

use std::sync::Arc;
use std::time::Duration;

use switchboard_wire::json::Raw;
use tokio::time::{Instant, timeout, timeout_at};

use super::find::is_meant;
use super::running_call::CallEventSender;
use super::unseen_pages::UnseenPages;
use super::{CallError, Request};
use crate::engine::{AppliedServer, AppliedState, Caller, Inner, log_name_of_spec};
use crate::hooks::HookNote;
use crate::results::{LimitedResult, ResultPolicy, ResultShape, SpillTarget, limit_result};

/// Everything a stage may need.
pub(super) struct Stage {
    pub(super) engine: Arc<Inner>,
    pub(super) caller: Caller,
    /// What was desired when the call began.
    pub(super) applied: Arc<AppliedState>,
    pub(super) emit: CallEventSender,
    pub(super) unseen_pages: UnseenPages,
}

/// How long servers that are starting are waited for, unless the settings say.
const FIRST_LIST_WAIT: Duration = Duration::from_secs(5);
/// Resources that one result is searched for.
const MAX_MENTIONS_PER_RESULT: usize = 256;

// === impl Stage ===

impl Stage {
    /// The server that a resource is read from: the one that is known to have it, else the only one with resources.
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

    /// The server that is known to have a resource: the one that is named, else the one that listed it, else the one
    /// whose template fits, else the one that mentioned it last to this session.
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
            // One snapshot for both questions: what is no longer coming in the next one is in its catalog.
            let snapshot = self.snapshot();
            let owner = snapshot.catalog.owner(uri, mentioned.as_deref());
            let found = || owner.map(|owner| self.applied_server(owner)).transpose();
            let is_mentioned = owner.is_some() && owner == mentioned.as_deref();
            // Whose it is may not be known yet, or a server may have it that stands before its owner in the
            // configuration. All are waited for at once: those that hang would add up.
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

    /// Waits for servers that have not said yet what they offer, or for one of them, as long as a first list does.
    pub(super) async fn await_first_lists(&self, server: Option<&str>) {
        let mut revisions = self.engine.revisions();
        let is_awaited = || {
            let snapshot = self.snapshot();
            snapshot.servers_awaited().any(|awaited| is_meant(server, &awaited.name))
        };
        let coming = async { while is_awaited() && revisions.changed().await.is_ok() {} };
        // What is not there by then is left out.
        let _ = timeout(self.first_list_wait(), coming).await;
    }

    /// How long a client's first list waits for servers that are starting; so long, and no longer, something is waited
    /// for that any of them may have.
    fn first_list_wait(&self) -> Duration {
        let millis = self.applied.desired.settings.limits.first_list_wait_ms;
        millis.map_or(FIRST_LIST_WAIT, Duration::from_millis).min(self.engine.connect_timeout())
    }

    /// The server of a resource that no server mentions: the only one with resources. Servers need not list what they
    /// have.
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

    /// Remembers which resources a result speaks of, so that they can be read from the same server.
    pub(super) fn mention(&self, placed: &AppliedServer, result: &Raw) {
        // Most results speak of none, and a large one is not to be walked through to learn it.
        if memchr::memmem::find(result.as_str().as_bytes(), b"uri").is_none() {
            return;
        }
        let links = ["content", "contents", "messages"]
            .into_iter()
            .filter_map(|key| result.get(key).ok().flatten())
            .flat_map(|list| list.elements().collect::<Vec<_>>())
            // A prompt's messages hold a content each.
            .map(|item| item.get("content").ok().flatten().unwrap_or(item));
        let uri = |item: &Raw| {
            let nested = item.get_path(&["resource", "uri"]).ok().flatten();
            nested.or_else(|| item.get("uri").ok().flatten())?.to_text()
        };
        for uri in links.take(MAX_MENTIONS_PER_RESULT).filter_map(|item| uri(&item)) {
            self.caller.workspace().remember_mention(&self.caller.session().id, &uri, &placed.name);
        }
    }

    /// A result, kept to its limits. Where nothing is kept on disk, what is too long is cut.
    pub(super) async fn limit(
        &self,
        shape: ResultShape,
        policy: ResultPolicy,
        result: Raw,
    ) -> LimitedResult {
        let place = || {
            let (store, owner) = (self.engine.store.clone()?, &self.caller.session().principal);
            Some(SpillTarget { store, owner: owner.clone() })
        };
        limit_result(result, shape, &policy, place).await
    }

    /// What becomes of large results: what the session says, with the limits that settings and environment change.
    pub(super) fn policy(&self) -> ResultPolicy {
        let limits = &self.applied.desired.settings.limits;
        let policy = self.caller.session().results;
        let policy = policy.with_image_limits(limits.image_pixels, limits.image_bytes);
        match self.applied.numbers.output_tokens(self.caller.session().variables) {
            Some(tokens) => policy.with_usual_tokens(tokens),
            None => policy,
        }
    }

    /// What went wrong with hooks goes to the server's log.
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
