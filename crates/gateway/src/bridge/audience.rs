//! What all clients of one principal have in common: word of changes, and lists that were made already.
//!
//! A bridge has one [`Audience`] for each principal that looks at it, so that nothing that happens on one principal's
//! connections is told to another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use switchboard_core::engine::Event;
use switchboard_wire::server::{Change, Changes};

use super::lists::Made;

/// The clients of one principal. Their views hold it.
#[derive(Default)]
pub(super) struct Audience {
    pub(super) changes: Changes,
    pub(super) made: Made,
}

/// Every audience that has a view, by principal.
#[derive(Default)]
pub(super) struct Audiences(Mutex<HashMap<String, Weak<Audience>>>);

// === impl Audiences ===

impl Audiences {
    /// The audience of a principal.
    pub(super) fn of(&self, principal: &str) -> Arc<Audience> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(audience) = known.get(principal).and_then(Weak::upgrade) {
            return audience;
        }
        known.retain(|_, audience| audience.strong_count() > 0);
        let new = Arc::new(Audience::default());
        known.insert(principal.to_owned(), Arc::downgrade(&new));
        new
    }

    /// Announces a change to the principals that an event concerns.
    pub(super) fn announce(&self, event: &Event, change: &Change) {
        self.announce_where(|principal| event.concerns(principal), change);
    }

    /// Announces a change to every principal.
    pub(super) fn announce_to_all(&self, change: &Change) {
        self.announce_where(|_| true, change);
    }

    fn announce_where(&self, concerns: impl Fn(&str) -> bool, change: &Change) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let audiences = known.iter().filter(|(principal, _)| concerns(principal));
        for audience in audiences.filter_map(|(_, audience)| audience.upgrade()) {
            audience.changes.announce(change.clone());
        }
    }
}
