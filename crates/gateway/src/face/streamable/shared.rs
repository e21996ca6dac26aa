//! Legacy sessions that all replicas share: found here or restored, and changed for all.
//!
//! Used by `legacy`, `call` and `replicas::follower`. A restored session is made by the requests that its client once
//! sent: `initialize`, the log level, the subscriptions. It knows nothing of running calls.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use switchboard_wire::{
    envelope::{Id, MessageOrBatch, Request, ResponseOutcome, RpcMessage, parse},
    json::Raw,
    meta::method,
    server::{ClientSettings, HandlerSession, ServerHandler},
};
use tokio_util::sync::CancellationToken;

use super::{
    session::{SessionParts, StreamableSession},
    stream_holder::StreamHolder,
};
use crate::{
    bridge::SERVER_KEY,
    face::{
        Face,
        metrics::Transport,
        refusal::HttpRefusal,
        replicas::{
            ReplicaError, ReplicaGroup, SessionNotice, SessionNoticeKind, SessionSettings,
            SessionState, SettingsEdit, SharedSession, SubscribedUri,
        },
        sessions::SessionOwner,
    },
    view_provider::ViewProvider,
};

/// The id of the requests that restore a session. Its client does not use it: it is random in each process.
const RESTORING_ID: &str = "switchboard-restores-a-session";

/// The part of a session that replicas share.
pub(super) struct SharedPart {
    group: ReplicaGroup,
    /// The name of the session among replicas.
    name: String,
    /// The last state that this replica has made its own or written.
    known: tokio::sync::Mutex<SessionState>,
    stream: StreamHolder,
}

/// The sessions that are being restored, each with its lock: of requests that come at once, one restores.
#[derive(Default)]
pub(in crate::face) struct SessionRestorer(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

/// The turn of one request to restore a session.
struct RestoreTurn<'a> {
    restorer: &'a SessionRestorer,
    id: &'a str,
    _lock: tokio::sync::OwnedMutexGuard<()>,
}

// === impl SharedPart ===

impl SharedPart {
    pub(super) fn new(group: ReplicaGroup, name: String) -> Self {
        let stream = StreamHolder::new(group.tag, name.clone());
        Self { group, name, known: tokio::sync::Mutex::default(), stream }
    }

    /// The replica that holds the session's GET stream.
    pub(super) fn stream(&self) -> &StreamHolder {
        &self.stream
    }

    /// Tells all other replicas something about the session.
    pub(super) async fn tell(&self, notice: SessionNotice) {
        if let Err(error) = self.group.relay.announce(notice).await {
            tracing::debug!(%error, "other replicas were not told of a session");
        }
    }

    pub(super) fn group(&self) -> &ReplicaGroup {
        &self.group
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes a state of other replicas this one's. Whether all of it could be.
    pub(super) async fn adopt<V: ServerHandler>(
        &self,
        wire: &Arc<HandlerSession<V>>,
        state: SessionState,
    ) -> bool {
        let mut known = self.known.lock().await;
        if state.version <= known.version {
            return true;
        }
        let is_whole = change_settings(wire, &known.settings, &state.settings).await;
        *known = state;
        is_whole
    }

    /// Writes for all replicas what the client has changed here. If that fails, the change is undone here.
    pub(super) async fn write_changes<V: ServerHandler>(
        &self,
        wire: &Arc<HandlerSession<V>>,
    ) -> Result<(), ReplicaError> {
        let mut known = self.known.lock().await;
        let now = to_settings(wire.client_settings());
        let Some(edit) = SettingsEdit::between(&known.settings, &now) else { return Ok(()) };
        let written = self.group.sessions.change(&self.name, edit).await;
        if written.is_ok() {
            known.settings = now;
        } else {
            change_settings(wire, &now, &known.settings).await;
            wire.restore_log_level(known.settings.log_level.as_deref());
        }
        written
    }
}

/// Makes a session's settings others, by the requests of a client. Whether all of it could be.
async fn change_settings<V: ServerHandler>(
    wire: &Arc<HandlerSession<V>>,
    from: &SessionSettings,
    to: &SessionSettings,
) -> bool {
    let edit = SettingsEdit::between(from, to);
    let mut is_whole = true;
    for (asked, params) in edit.iter().flat_map(SettingsEdit::requests) {
        let request = Request::new(&Id::text(RESTORING_ID), asked, Some(&params));
        let answer = Arc::clone(wire).answer(Ok(RpcMessage::Request(request))).await;
        let outcome = answer.map(|answer| answer.outcome());
        if let Some(ResponseOutcome::Error(error)) = outcome {
            tracing::debug!(%error, asked, "a setting of a session could not be taken over");
            is_whole = false;
        }
    }
    is_whole
}

/// Whether a message may change what replicas share of its session.
pub(super) fn may_change_settings(asked: &MessageOrBatch) -> bool {
    let is_setting = |message: &RpcMessage| match message {
        RpcMessage::Request(request) => matches!(
            request.method().as_ref(),
            method::SET_LEVEL | method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE
        ),
        _ => false,
    };
    match asked {
        MessageOrBatch::One(message) => is_setting(message),
        MessageOrBatch::Batch(messages) => messages.iter().flatten().any(is_setting),
    }
}

fn to_settings(settings: ClientSettings) -> SessionSettings {
    let subscribed = settings.subscriptions.into_iter();
    SessionSettings {
        log_level: settings.log_level.map(str::to_owned),
        subscriptions: subscribed
            .map(|resource| SubscribedUri { uri: resource.uri, owner: resource.owner })
            .collect(),
    }
}

// === impl SettingsEdit ===

impl SettingsEdit {
    /// The requests of a client that make the change.
    fn requests(&self) -> Vec<(&'static str, Raw)> {
        let level = self
            .log_level
            .iter()
            .map(|level| (method::SET_LEVEL, Raw::object([("level", Raw::string(level))])));
        let subscription = |asked| {
            move |resource: &SubscribedUri| {
                let owner = resource
                    .owner
                    .iter()
                    .map(|owner| ("_meta", Raw::object([(SERVER_KEY, Raw::string(owner))])));
                let uri = ("uri", Raw::string(&resource.uri));
                (asked, Raw::object(std::iter::once(uri).chain(owner)))
            }
        };
        let added = self.added.iter().map(subscription(method::RESOURCES_SUBSCRIBE));
        let removed = self.removed.iter().map(subscription(method::RESOURCES_UNSUBSCRIBE));
        level.chain(added).chain(removed).collect()
    }
}

// === impl SessionRestorer ===

impl SessionRestorer {
    /// Waits until no other request restores this session.
    async fn enter<'a>(&'a self, id: &'a str) -> RestoreTurn<'a> {
        let lock = Arc::clone(self.0.lock().entry(id.to_owned()).or_default());
        RestoreTurn { restorer: self, id, _lock: lock.lock_owned().await }
    }
}

impl Drop for RestoreTurn<'_> {
    fn drop(&mut self) {
        // Requests that wait have the lock already; a later one finds the session, or that there is none.
        self.restorer.0.lock().remove(self.id);
    }
}

/// The id of a session that begins here, and its part that replicas share.
pub(super) async fn begin(
    group: &ReplicaGroup,
    owner: &SessionOwner,
    hello: &Request,
) -> Result<(String, Option<SharedPart>), HttpRefusal> {
    let client = hello.params().unwrap_or_else(Raw::empty_object);
    let owner = owner.to_text().map_err(|error| HttpRefusal::no_replicas(&error))?;
    let begun = group.sessions.begin(&owner, client.as_str()).await;
    let begun = begun.map_err(|error| HttpRefusal::no_replicas(&error))?;
    Ok((begun.id, Some(SharedPart::new(group.clone(), begun.name))))
}

/// The session that a request names: open here, or restored.
pub(super) async fn find<F: ViewProvider>(
    face: &Arc<Face<F>>,
    owner: &SessionOwner,
    id: &str,
) -> Result<Arc<StreamableSession<F::View>>, HttpRefusal> {
    match (face.sessions.get(id, owner), &face.options.replicas) {
        (Err(_), Some(group)) => {
            // Boxed: restoring is rare, and its future large.
            let _turn = face.restorer.enter(id).await;
            match face.sessions.get(id, owner) {
                Ok(session) => Ok(session),
                Err(_) => Box::pin(restore(face, group, owner, id)).await,
            }
        }
        (found, _) => found,
    }
}

async fn restore<F: ViewProvider>(
    face: &Arc<Face<F>>,
    group: &ReplicaGroup,
    owner: &SessionOwner,
    id: &str,
) -> Result<Arc<StreamableSession<F::View>>, HttpRefusal> {
    let owner_text = owner.to_text().map_err(|error| HttpRefusal::no_replicas(&error))?;
    let found = group.sessions.find(&owner_text, id).await;
    let found = found.map_err(|error| HttpRefusal::no_replicas(&error))?;
    let SharedSession { name, client, state } = found.ok_or_else(HttpRefusal::no_session)?;
    let client = Raw::parse(client).map_err(|_| HttpRefusal::no_session())?;
    let hello = Request::new(&Id::text(RESTORING_ID), method::INITIALIZE, Some(&client));
    let slot = face.slot(owner)?;
    let opened = face.open_view(owner, id.to_owned(), Transport::Http).await?;
    let making = SessionParts {
        limits: face.options.limits,
        over: CancellationToken::new(),
        slot,
        counted: face.metrics.count_session(Transport::Http),
        shared: Some(SharedPart::new(group.clone(), name.clone())),
    };
    let (_, begun) = StreamableSession::begin(opened, hello, making).await;
    let (session, running) = begun.ok_or_else(HttpRefusal::no_session)?;
    // A session that cannot be restored whole is none: the client begins a new one.
    if !session.adopt(state).await {
        return Err(HttpRefusal::no_session());
    }
    face.sessions.insert(id.to_owned(), owner.clone(), Arc::clone(&session));
    if let Some(shared) = session.shared() {
        shared.stream().seek();
    }
    face.tasks.spawn(running.run(Arc::clone(&session), face.closing.clone()));
    // What changed before it could be told of changes.
    let now = group.sessions.state(&name).await;
    let now = now.map_err(|error| HttpRefusal::no_replicas(&error))?;
    if now.ended || !session.adopt(now).await {
        face.sessions.remove(id);
        session.end();
        return Err(HttpRefusal::no_session());
    }
    tracing::debug!(session = name, "a session of another replica goes on here");
    Ok(session)
}

/// Makes the change of a session by another replica this one's, if the session is open here.
pub(in crate::face) fn follow_change<F: ViewProvider>(
    face: &Arc<Face<F>>,
    name: &str,
    state: SessionState,
) {
    if state.ended {
        for session in face.sessions.take_if(|session| session.is_named(name)) {
            session.end();
        }
    } else if let Some(session) = face.sessions.find(|session| session.is_named(name)) {
        face.tasks.spawn(async move {
            if !session.adopt(state).await {
                tracing::warn!("a change of a session at another replica could not be made here");
            }
        });
    }
}

/// Takes what another replica tells of a session, if the session is open here.
pub(in crate::face) fn take_notice<F: ViewProvider>(face: &Arc<Face<F>>, notice: SessionNotice) {
    let session = face.sessions.find(|session| session.is_named(&notice.name));
    let Some(session) = session else { return };
    let Some(shared) = session.shared() else { return };
    match notice.kind {
        SessionNoticeKind::FromClient => {
            let message = parse(notice.text.into());
            if let Ok(MessageOrBatch::One(message @ RpcMessage::Notification(_))) = message {
                face.tasks.spawn(async move { session.take(message).await });
            }
        }
        SessionNoticeKind::ToClient if shared.stream().is_here() => {
            session.say_for_other(&notice.text.into());
        }
        SessionNoticeKind::StreamOpened(holder) => shared.stream().note(holder),
        SessionNoticeKind::StreamLastOpened(holder) => shared.stream().note_last(holder),
        SessionNoticeKind::StreamSought if shared.stream().is_here() => {
            shared.stream().answer_seeker();
        }
        SessionNoticeKind::ToClient | SessionNoticeKind::StreamSought => {}
    }
}

/// Tells the other replicas of a notification that may concern them.
pub(super) async fn announce<V: ServerHandler>(
    session: &StreamableSession<V>,
    message: &RpcMessage,
) {
    let (Some(shared), RpcMessage::Notification(note)) = (session.shared(), message) else {
        return;
    };
    if !matches!(note.method().as_ref(), method::CANCELLED | method::ROOTS_CHANGED) {
        return;
    }
    let (name, kind) = (shared.name().to_owned(), SessionNoticeKind::FromClient);
    shared.tell(SessionNotice { name, kind, text: note.text().to_string() }).await;
}

/// Ends a session for all replicas.
pub(super) async fn end<V: ServerHandler>(
    session: &StreamableSession<V>,
) -> Result<(), HttpRefusal> {
    let Some(shared) = session.shared() else { return Ok(()) };
    let ended: Result<(), ReplicaError> = shared.group().sessions.end(shared.name()).await;
    ended.map_err(|error| HttpRefusal::no_replicas(&error))
}
