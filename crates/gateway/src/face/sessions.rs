//! The open sessions of the faces, with their owners and limits.
//!
//! Used by `streamable`, `sse` and `ws`. When no slot is free, the idle session with the oldest last use is ended. It
//! does not run sessions (`streamable::session`, `wire::server`).

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use switchboard_core::principal::Principal;
use tokio::time::Instant;

use super::{access_control::is_token, refusal::HttpRefusal, replicas::ReplicaError};
use crate::view_provider::ViewSelection;

/// The owner of a session. Other callers cannot use the session, even if they know its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct SessionOwner {
    pub(super) principal: Principal,
    pub(super) part: ViewSelection,
}

/// A session's slot, counted for its principal.
#[derive(Debug)]
pub(super) struct SessionSlot {
    slots: SessionSlots,
    principal: Arc<str>,
}

/// The slots for sessions of all transports. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct SessionSlots(Arc<SharedSlots>);

#[derive(Debug)]
struct SharedSlots {
    limit: usize,
    held: Mutex<SlotCounts>,
    open: OpenSessionCount,
}

/// The number of open sessions, for status displays. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct OpenSessionCount(Arc<AtomicUsize>);

#[derive(Debug, Default)]
struct SlotCounts {
    all: usize,
    by_principal: HashMap<Arc<str>, usize>,
}

/// The open sessions of one transport, by id.
#[derive(Debug)]
pub(super) struct SessionTable<S>(Mutex<HashMap<String, (SessionOwner, S)>>);

// === impl SessionOwner ===

impl SessionOwner {
    /// The owner as text, equal for equal owners, from which another replica makes the same owner.
    pub(super) fn to_text(&self) -> Result<String, ReplicaError> {
        serde_json::to_string(self).map_err(|error| ReplicaError::Unreachable(Box::new(error)))
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

// === impl SessionSlots ===

impl SessionSlots {
    pub(super) fn new(limit: usize, open: OpenSessionCount) -> Self {
        Self(Arc::new(SharedSlots { limit, held: Mutex::default(), open }))
    }

    /// Takes a slot for a principal. A token may hold no more slots than are free: half of all if it is the only one,
    /// so that another token always finds some.
    pub(super) fn take(&self, principal: &Arc<str>) -> Result<SessionSlot, HttpRefusal> {
        let held = self.lock();
        let (own, free) = (held.of(principal), self.free(&held));
        if free > 0 && is_token(principal) && own >= free {
            let text =
                "too many sessions of this token are open; end one with DELETE, or try again later";
            return Err(HttpRefusal::full(text));
        }
        self.take_from(held, principal)
    }

    /// Takes a slot in place of one that the principal has given up.
    pub(super) fn take_instead(&self, principal: &Arc<str>) -> Result<SessionSlot, HttpRefusal> {
        self.take_from(self.lock(), principal)
    }

    fn take_from(
        &self,
        mut held: MutexGuard<'_, SlotCounts>,
        principal: &Arc<str>,
    ) -> Result<SessionSlot, HttpRefusal> {
        if self.free(&held) == 0 {
            let text = "too many sessions are open; end one with DELETE, or try again later";
            return Err(HttpRefusal::full(text));
        }
        let own = held.of(principal);
        held.all += 1;
        self.0.open.0.fetch_add(1, Ordering::Relaxed);
        held.by_principal.insert(Arc::clone(principal), own + 1);
        Ok(SessionSlot { slots: self.clone(), principal: Arc::clone(principal) })
    }

    /// The principal that must give up a session so that this one gets a slot: itself if it has used up its share,
    /// else the one that holds the most.
    pub(super) fn giver(&self, principal: &Arc<str>) -> Arc<str> {
        let held = self.lock();
        let (own, free) = (held.of(principal), self.free(&held));
        let most = held.by_principal.iter().max_by_key(|(_, held)| **held);
        // A free slot does not help a token that has used up its share.
        let is_helped = free == 0 && (!is_token(principal) || own == 0);
        match most {
            Some((other, most)) if is_helped && *most > own => Arc::clone(other),
            _ => Arc::clone(principal),
        }
    }

    fn free(&self, held: &SlotCounts) -> usize {
        self.0.limit.saturating_sub(held.all)
    }

    fn lock(&self) -> MutexGuard<'_, SlotCounts> {
        self.0.held.lock()
    }
}

// === impl SlotCounts ===

impl SlotCounts {
    fn of(&self, principal: &Arc<str>) -> usize {
        self.by_principal.get(principal).copied().unwrap_or_default()
    }
}

// === impl SessionSlot ===

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut held = self.slots.lock();
        held.all -= 1;
        self.slots.0.open.0.fetch_sub(1, Ordering::Relaxed);
        if let Some(own) = held.by_principal.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                held.by_principal.remove(&self.principal);
            }
        }
    }
}

// === impl OpenSessionCount ===

impl OpenSessionCount {
    /// The current number.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl SessionTable ===

impl<S> Default for SessionTable<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Clone> SessionTable<S> {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (SessionOwner, S)>> {
        self.0.lock()
    }

    pub(super) fn insert(&self, id: String, owner: SessionOwner, session: S) {
        self.lock().insert(id, (owner, session));
    }

    /// The session, if it belongs to this owner. Another caller only learns that there is none.
    pub(super) fn get(&self, id: &str, owner: &SessionOwner) -> Result<S, HttpRefusal> {
        match self.lock().get(id) {
            Some((bound, session)) if bound == owner => Ok(session.clone()),
            _ => Err(HttpRefusal::no_session()),
        }
    }

    /// The first session that satisfies `is_meant`.
    pub(super) fn find(&self, is_meant: impl Fn(&S) -> bool) -> Option<S> {
        self.lock().values().map(|(_, session)| session).find(|session| is_meant(session)).cloned()
    }

    pub(super) fn remove(&self, id: &str) -> Option<S> {
        self.lock().remove(id).map(|(_, session)| session)
    }

    /// Takes out the principal's session with the oldest last use, among those that `idle_since` reports as idle.
    /// Returns the time of that use, too.
    pub(super) fn take_least_recent(
        &self,
        principal: &str,
        idle_since: impl Fn(&S) -> Option<Instant>,
    ) -> Option<S> {
        let mut sessions = self.lock();
        let idle = sessions
            .iter()
            .filter(|(_, (owner, _))| **owner.principal.id() == *principal)
            .filter_map(|(id, (_, session))| Some((idle_since(session)?, id)));
        let (_, id) = idle.min()?;
        let id = id.clone();
        sessions.remove(&id).map(|(_, session)| session)
    }

    /// Takes out the sessions that satisfy `so`.
    pub(super) fn take_if(&self, so: impl Fn(&S) -> bool) -> Vec<S> {
        let mut taken = Vec::new();
        self.lock().retain(|_, (_, session)| {
            let is_so = so(session);
            if is_so {
                taken.push(session.clone());
            }
            !is_so
        });
        taken
    }
}

/// A random session id in visible ASCII, which cannot be guessed.
pub(super) fn random_session_id() -> Result<String, HttpRefusal> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "no random numbers are to be had");
        HttpRefusal::full("no session can be begun now; try again")
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use switchboard_core::principal::LOCAL_PRINCIPAL;

    use super::*;

    fn owner(principal: &str, part: ViewSelection) -> SessionOwner {
        SessionOwner { principal: Principal::user(principal), part }
    }

    #[test]
    fn a_session_is_its_owners() {
        let sessions = SessionTable::default();
        let mine = owner("me", ViewSelection::Everything);
        sessions.insert("id".into(), mine.clone(), 1);
        for (id, asking, found) in [
            ("id", mine.clone(), true),
            ("id", owner("you", ViewSelection::Everything), false),
            ("id", owner("me", ViewSelection::Server("s".into())), false),
            ("other", mine, false),
        ] {
            assert_eq!(sessions.get(id, &asking).is_ok(), found, "{id} {asking:?}");
        }
        assert_eq!(sessions.take_if(|session| *session == 1), [1]);
        assert_eq!(sessions.remove("id"), None);
    }

    #[test]
    fn there_are_so_many_slots() {
        let open = OpenSessionCount::default();
        let slots = SessionSlots::new(1, open.clone());
        let local: Arc<str> = LOCAL_PRINCIPAL.into();
        let held = slots.take(&local).unwrap();
        assert!(slots.take(&local).is_err());
        assert_eq!(open.count(), 1);
        drop(held);
        assert_eq!(open.count(), 0);
        assert!(slots.take(&local).is_ok());
    }

    #[test]
    fn whoever_holds_the_most_gives_first() {
        let slots = SessionSlots::new(8, OpenSessionCount::default());
        let [local, ann, bob, eve]: [Arc<str>; 4] =
            [LOCAL_PRINCIPAL, "ann", "bob", "eve"].map(Into::into);
        let held: Vec<_> =
            std::iter::repeat_with(|| slots.take(&ann).ok()).map_while(|slot| slot).collect();
        assert_eq!(held.len(), 4);
        // A slot is free, but not for a token that has its share.
        assert_eq!(slots.giver(&ann), ann);
        let rest: Vec<_> = std::iter::repeat_with(|| slots.take(&local).ok())
            .map_while(|slot| slot)
            .take(3)
            .collect();
        let _bob = slots.take(&bob).unwrap();
        assert_eq!((slots.giver(&eve), slots.giver(&local)), (ann.clone(), ann.clone()));
        assert_eq!(slots.giver(&bob), bob, "one more that is free would not be for it");
        drop(held);
        let more: Vec<_> =
            std::iter::repeat_with(|| slots.take(&local).ok()).map_while(|slot| slot).collect();
        assert_eq!(more.len() + rest.len(), 7);
        assert_eq!((slots.giver(&eve), slots.giver(&local)), (local.clone(), local.clone()));
        drop(slots.take_instead(&local).unwrap_err());
        drop(more);
        assert!(slots.take_instead(&bob).is_ok());
    }

    #[test]
    fn the_session_that_was_not_used_for_the_longest_time_goes_first() {
        let (sessions, now) = (SessionTable::default(), Instant::now());
        let (mine, yours) =
            (owner("me", ViewSelection::Everything), owner("you", ViewSelection::Everything));
        let at = |seconds| now + std::time::Duration::from_secs(seconds);
        for (id, owner, session) in [
            ("new", &mine, ("new", Some(at(9)))),
            ("old", &mine, ("old", Some(at(2)))),
            ("busy", &mine, ("busy", None)),
            ("yours", &yours, ("yours", Some(at(1)))),
        ] {
            sessions.insert(id.into(), owner.clone(), session);
        }
        let next =
            || sessions.take_least_recent("user:me", |session| session.1).map(|session| session.0);
        assert_eq!([next(), next(), next()], [Some("old"), Some("new"), None]);
        assert!(sessions.get("busy", &mine).is_ok() && sessions.get("yours", &yours).is_ok());
    }

    #[test]
    fn a_token_leaves_room_for_another() {
        let slots = SessionSlots::new(8, OpenSessionCount::default());
        let take_all = |principal: &str| {
            let principal: Arc<str> = principal.into();
            std::iter::from_fn(|| slots.take(&principal).ok()).collect::<Vec<_>>()
        };
        let held = ["ann", "bob", "eve", "dan"].map(take_all);
        assert_eq!(held.each_ref().map(Vec::len), [4, 2, 1, 1]);
        assert!(take_all("joe").is_empty());
        drop(held);
        assert_eq!(take_all(LOCAL_PRINCIPAL).len(), 8, "the hub is its own user's");
        assert!(slots.lock().by_principal.is_empty());
    }

    #[test]
    fn ids_are_visible_and_different() {
        let (one, other) = (random_session_id().unwrap(), random_session_id().unwrap());
        assert_ne!(one, other);
        assert!(one.len() >= 43 && one.bytes().all(|byte| byte.is_ascii_graphic()), "{one}");
    }
}
