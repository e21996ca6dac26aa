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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use switchboard_core::engine::Happened;
    use switchboard_wire::client::List;

    use super::*;

    #[test]
    fn a_change_is_announced_to_the_principals_that_it_concerns() {
        let audiences = Audiences::default();
        let principals = ["local", "ann@1", "bob@2"].map(|name| audiences.of(name));
        let check = |principal: Option<&str>, expected: [bool; 3]| {
            let mut news = principals.each_ref().map(|audience| audience.changes.listen());
            let principal = principal.map(Into::into);
            let what = Happened::List(List::Tools);
            let event = Event { workspaces: Vec::new(), server: "one".to_owned(), principal, what };
            audiences.announce(&event, &Change::List(List::Tools));
            let heard = news.each_mut().map(|news| news.next().now_or_never().is_some());
            assert_eq!(heard, expected, "{event:?}");
        };
        check(Some("ann@1"), [false, true, false]);
        check(Some("local"), [true, false, false]);
        check(None, [true, true, true]);
    }

    #[test]
    fn an_audience_without_views_is_forgotten() {
        let audiences = Audiences::default();
        drop(audiences.of("ann@1"));
        let _bob = audiences.of("bob@2");
        assert_eq!(audiences.0.lock().unwrap().len(), 1);
    }
}
