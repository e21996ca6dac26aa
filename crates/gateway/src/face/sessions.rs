//! Which sessions are open, whose they are, and how many there may be.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{guard::is_token, refusal::Refusal};
use crate::front::Part;

/// Whose a session is. Nobody else may use it, even knowing its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) principal: Arc<str>,
    pub(super) part: Part,
}

/// One of the sessions there may be, of its principal.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    principal: Arc<str>,
}

/// How many sessions there may be, of all transports. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Slots(Arc<SharedSlots>);

#[derive(Debug)]
struct SharedSlots {
    limit: usize,
    held: Mutex<HeldSlots>,
}

#[derive(Debug, Default)]
struct HeldSlots {
    all: usize,
    by_principal: HashMap<Arc<str>, usize>,
}

/// The open sessions of one transport, by id.
#[derive(Debug)]
pub(super) struct Sessions<S>(Mutex<HashMap<String, (Owner, S)>>);

// === impl Slots ===

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(SharedSlots { limit, held: Mutex::default() }))
    }

    /// A session for a principal. A token may hold no more sessions than are still free: half of all if it is the only
    /// one, and another one always finds some.
    pub(super) fn take(&self, principal: &Arc<str>) -> Result<Slot, Refusal> {
        let mut held = self.lock();
        let free = self.0.limit.saturating_sub(held.all);
        let own = held.by_principal.get(principal).copied().unwrap_or_default();
        if free == 0 {
            let text = "too many sessions are open; end one with DELETE, or try again later";
            return Err(Refusal::full(text));
        }
        if is_token(principal) && own >= free {
            let text =
                "too many sessions of this token are open; end one with DELETE, or try again later";
            return Err(Refusal::full(text));
        }
        held.all += 1;
        held.by_principal.insert(Arc::clone(principal), own + 1);
        Ok(Slot { slots: self.clone(), principal: Arc::clone(principal) })
    }

    fn lock(&self) -> MutexGuard<'_, HeldSlots> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Slot ===

impl Drop for Slot {
    fn drop(&mut self) {
        let mut held = self.slots.lock();
        held.all -= 1;
        if let Some(own) = held.by_principal.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                held.by_principal.remove(&self.principal);
            }
        }
    }
}

// === impl Sessions ===

impl<S> Default for Sessions<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Clone> Sessions<S> {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Owner, S)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, id: String, owner: Owner, session: S) {
        self.lock().insert(id, (owner, session));
    }

    /// The session, if it is this owner's. A stranger learns no more than that there is none.
    pub(super) fn get(&self, id: &str, owner: &Owner) -> Result<S, Refusal> {
        match self.lock().get(id) {
            Some((bound, session)) if bound == owner => Ok(session.clone()),
            _ => Err(Refusal::no_session()),
        }
    }

    pub(super) fn remove(&self, id: &str) -> Option<S> {
        self.lock().remove(id).map(|(_, session)| session)
    }

    /// Takes out those that are so.
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

/// An id that nobody can guess, in visible ASCII.
pub(super) fn unguessable() -> Result<String, Refusal> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "no random numbers are to be had");
        Refusal::full("no session can be begun now; try again")
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::guard::LOCAL;

    fn owner(principal: &str, part: Part) -> Owner {
        Owner { principal: principal.into(), part }
    }

    #[test]
    fn a_session_is_its_owners() {
        let sessions = Sessions::default();
        let mine = owner("me", Part::Everything);
        sessions.insert("id".into(), mine.clone(), 1);
        for (id, asking, found) in [
            ("id", mine.clone(), true),
            ("id", owner("you", Part::Everything), false),
            ("id", owner("me", Part::Server("s".into())), false),
            ("other", mine, false),
        ] {
            assert_eq!(sessions.get(id, &asking).is_ok(), found, "{id} {asking:?}");
        }
        assert_eq!(sessions.take_if(|session| *session == 1), [1]);
        assert_eq!(sessions.remove("id"), None);
    }

    #[test]
    fn there_are_so_many_slots() {
        let slots = Slots::new(1);
        let local: Arc<str> = LOCAL.into();
        let held = slots.take(&local).unwrap();
        assert!(slots.take(&local).is_err());
        drop(held);
        assert!(slots.take(&local).is_ok());
    }

    #[test]
    fn a_token_leaves_room_for_another() {
        let slots = Slots::new(8);
        let take_all = |principal: &str| {
            let principal: Arc<str> = principal.into();
            std::iter::from_fn(|| slots.take(&principal).ok()).collect::<Vec<_>>()
        };
        let held = ["ann", "bob", "eve", "dan"].map(take_all);
        assert_eq!(held.each_ref().map(Vec::len), [4, 2, 1, 1]);
        assert!(take_all("joe").is_empty());
        drop(held);
        assert_eq!(take_all(LOCAL).len(), 8, "the hub is its own user's");
        assert!(slots.lock().by_principal.is_empty());
    }

    #[test]
    fn ids_are_visible_and_different() {
        let (one, other) = (unguessable().unwrap(), unguessable().unwrap());
        assert_ne!(one, other);
        assert!(one.len() >= 43 && one.bytes().all(|byte| byte.is_ascii_graphic()), "{one}");
    }
}
