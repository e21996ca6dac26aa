//! The lists of a server as it sent them, with their freshness.
//!
//! Written by the connection's task; used by `engine::supervisor::parse` and the snapshot. It does not decode items
//! (`catalog` does).

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_wire::client::{FetchedList, ListKind, ServerFacts};
use switchboard_wire::json::Raw;
use tokio::time::Instant;

use super::ConnectionError;

/// Every kind of list.
pub const ALL_LISTS: [ListKind; 4] =
    [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates];

/// All lists of one server. They outlive the session they came from.
#[derive(Debug, Clone, Default)]
pub struct RawLists {
    /// Grows with every change.
    pub generation: u64,
    /// The server's facts from its last handshake.
    pub facts: Option<Arc<ServerFacts>>,
    /// Its tools.
    pub tools: RawList,
    /// Its prompts.
    pub prompts: RawList,
    /// Its resources.
    pub resources: RawList,
    /// Its resource templates.
    pub templates: RawList,
}

/// One list.
#[derive(Debug, Clone, Default)]
pub struct RawList {
    /// The list as last read; `None` before the first read. Empty where the server has no list of this kind.
    pub listing: Option<Arc<FetchedList>>,
    /// When the list was read.
    pub fetched_at: Option<Instant>,
    /// When the list expires; `None` if it does not.
    pub fresh_until: Option<Instant>,
    /// Why the list could not be read again. The former list stays.
    pub problem: Option<ConnectionError>,
    /// Whether the server announced a change, or its session has ended.
    pub outdated: bool,
    /// Whether the server has announced a change since.
    pub announced: bool,
    /// Whether the list is of an earlier session, and the server has not been asked again since it was started.
    pub unconfirmed: bool,
}

// === impl RawLists ===

impl RawLists {
    /// Returns a list.
    pub fn get(&self, list: ListKind) -> &RawList {
        match list {
            ListKind::Tools => &self.tools,
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
        }
    }

    /// Whether each list was read, or could not be.
    pub fn is_known(&self) -> bool {
        ALL_LISTS.iter().all(|list| self.get(*list).is_known())
    }

    /// Returns when the lists were read: the oldest one counts.
    pub(crate) fn read_at(&self) -> Option<SystemTime> {
        let read = ALL_LISTS.iter().filter_map(|list| self.get(*list).fetched_at).min();
        let age = read.map_or(Duration::ZERO, |read| read.elapsed());
        SystemTime::now().checked_sub(age)
    }

    /// Returns the lists that have expired.
    pub(super) fn expired_lists(&self) -> impl Iterator<Item = ListKind> + '_ {
        let now = Instant::now();
        ALL_LISTS
            .into_iter()
            .filter(move |list| self.get(*list).fresh_until.is_some_and(|until| until <= now))
    }

    pub(super) fn get_mut(&mut self, list: ListKind) -> &mut RawList {
        match list {
            ListKind::Tools => &mut self.tools,
            ListKind::Prompts => &mut self.prompts,
            ListKind::Resources => &mut self.resources,
            ListKind::Templates => &mut self.templates,
        }
    }

    /// Marks all lists as unconfirmed: their server stops, and may have others when it is started again.
    pub(super) fn mark_unconfirmed(&mut self) {
        for list in ALL_LISTS {
            self.get_mut(list).unconfirmed = true;
        }
    }

    /// Marks all lists as outdated, because their session has ended.
    pub(super) fn mark_stale(&mut self) {
        for list in ALL_LISTS {
            let list = self.get_mut(list);
            list.outdated = list.listing.is_some();
        }
    }
}

// === impl RawList ===

impl RawList {
    /// Whether the list was read, or could not be.
    pub fn is_known(&self) -> bool {
        self.listing.is_some() || self.problem.is_some()
    }

    /// Whether the list has expired or is outdated.
    pub fn is_stale(&self) -> bool {
        let expired = self.fresh_until.is_some_and(|until| until <= Instant::now());
        self.outdated || self.problem.is_some() || expired
    }

    /// Whether the list has exactly these items and members.
    pub(super) fn equals(&self, listing: &FetchedList) -> bool {
        let is_same = |before: &Arc<FetchedList>| {
            before.items.iter().map(Raw::as_str).eq(listing.items.iter().map(Raw::as_str))
                && before.other_members == listing.other_members
        };
        self.problem.is_none() && self.listing.as_ref().is_some_and(is_same)
    }

    pub(super) fn from_listing(listing: FetchedList) -> Self {
        let now = Instant::now();
        Self {
            fetched_at: Some(now),
            // An expiry beyond the clock's range counts as none.
            fresh_until: listing.ttl.and_then(|ttl: Duration| now.checked_add(ttl)),
            listing: Some(Arc::new(listing)),
            problem: None,
            outdated: false,
            announced: false,
            unconfirmed: false,
        }
    }

    pub(super) fn absent() -> Self {
        Self { listing: Some(Arc::default()), ..Self::default() }
    }
}
