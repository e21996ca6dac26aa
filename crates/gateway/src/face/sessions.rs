//! Which sessions are open, whose they are, and how many there may be.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::refusal::Refusal;
use crate::front::Part;

/// Whose a session is. Nobody else may use it, even knowing its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Owner {
    pub(super) principal: Arc<str>,
    pub(super) part: Part,
}

/// One of the sessions there may be.
pub(super) type Slot = OwnedSemaphorePermit;

/// How many sessions there may be, of all transports.
#[derive(Debug, Clone)]
pub(super) struct Slots(Arc<Semaphore>);

/// The open sessions of one transport, by id.
#[derive(Debug)]
pub(super) struct Sessions<S>(Mutex<HashMap<String, (Owner, S)>>);

// === impl Slots ===

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Semaphore::new(limit)))
    }

    pub(super) fn take(&self) -> Result<Slot, Refusal> {
        let full =
            || Refusal::full("too many sessions are open; end one with DELETE, or try again later");
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| full())
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
        let held = slots.take().unwrap();
        assert!(slots.take().is_err());
        drop(held);
        assert!(slots.take().is_ok());
    }

    #[test]
    fn ids_are_visible_and_different() {
        let (one, other) = (unguessable().unwrap(), unguessable().unwrap());
        assert_ne!(one, other);
        assert!(one.len() >= 43 && one.bytes().all(|byte| byte.is_ascii_graphic()), "{one}");
    }
}
