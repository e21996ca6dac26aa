//! The names of sessions that have ended, remembered for as long as an id of them could be shown.
//!
//! Used by `sessions`: NATS may put an old record back, and this replica then knows better. It holds names only, in
//! memory: a replica that was not running when a session ended does not know of it.

use std::collections::{HashSet, VecDeque};

use parking_lot::Mutex;

use crate::heartbeat::now_millis;
use crate::sessions::{SESSION_LIFETIME, SessionName};

/// The most names; the oldest are forgotten first. They take 16 MB.
const MAX_NAMES: usize = 1 << 18;

/// The sessions that have ended.
#[derive(Debug, Default)]
pub(crate) struct EndedSessions(Mutex<EndedNames>);

#[derive(Debug, Default)]
struct EndedNames {
    names: HashSet<u128>,
    /// The names in the order of their end, each with the time after which no id of it is valid.
    by_age: VecDeque<(u128, u64)>,
}

// === impl EndedSessions ===

impl EndedSessions {
    /// Remembers that a session has ended.
    pub(crate) fn insert(&self, name: &SessionName) {
        self.insert_at(name, now_millis());
    }

    /// Whether a session is known to have ended.
    pub(crate) fn contains(&self, name: &SessionName) -> bool {
        number(name).is_some_and(|number| self.0.lock().names.contains(&number))
    }

    fn insert_at(&self, name: &SessionName, now: u64) {
        let Some(number) = number(name) else { return };
        let lifetime = u64::try_from(SESSION_LIFETIME.as_millis()).unwrap_or(u64::MAX);
        let mut ended = self.0.lock();
        if !ended.names.insert(number) {
            return;
        }
        ended.by_age.push_back((number, now.saturating_add(lifetime)));
        while let Some(&(oldest, over)) = ended.by_age.front()
            && (over <= now || ended.by_age.len() > MAX_NAMES)
        {
            ended.by_age.pop_front();
            ended.names.remove(&oldest);
        }
    }
}

/// A name is 128 random bits.
fn number(name: &SessionName) -> Option<u128> {
    u128::from_str_radix(name.as_str(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_remembered_for_the_lifetime_of_ids() {
        let ended = EndedSessions::default();
        let name = |number: u32| SessionName::of_text(&format!("{number:032x}"));
        let lifetime = u64::try_from(SESSION_LIFETIME.as_millis()).unwrap();
        ended.insert_at(&name(1), 0);
        ended.insert_at(&name(1), 5);
        ended.insert_at(&name(2), lifetime - 1);
        assert!(ended.contains(&name(1)) && ended.contains(&name(2)) && !ended.contains(&name(3)));
        ended.insert_at(&name(3), lifetime);
        assert!(!ended.contains(&name(1)) && ended.contains(&name(2)) && ended.contains(&name(3)));
        ended.insert_at(&SessionName::of_text("no number"), 0);
        assert_eq!(ended.0.lock().by_age.len(), 2);
    }
}
