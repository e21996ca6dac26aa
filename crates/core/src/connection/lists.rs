//! A server's lists as they were sent, and how far they can be relied on.
//!
//! Nothing is decoded here: the catalog reads the items.

use std::{sync::Arc, time::Duration};

use switchboard_wire::client::{FetchedList, ListKind, ServerFacts};
use switchboard_wire::json::Raw;
use tokio::time::Instant;

use super::ConnectionError;

/// Every list there is.
pub const ALL_LISTS: [ListKind; 4] =
    [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates];

/// All lists of one server. They outlive the session they came from.
#[derive(Debug, Clone, Default)]
pub struct RawLists {
    /// Grows with every change.
    pub generation: u64,
    /// What the server last said of itself.
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
    /// What was read last; nothing if nothing ever was. Of a server that offers no such list, empty.
    pub listing: Option<Arc<FetchedList>>,
    /// When.
    pub fetched_at: Option<Instant>,
    /// Until when it may be taken for fresh; always if absent.
    pub fresh_until: Option<Instant>,
    /// Why it could not be read again. What was read before still stands.
    pub problem: Option<ConnectionError>,
    /// Whether the server, or the end of its session, has made it doubtful.
    pub outdated: bool,
    /// Whether the server has said since that it changed.
    pub announced: bool,
}

// === impl RawLists ===

impl RawLists {
    /// One of them.
    pub fn get(&self, list: ListKind) -> &RawList {
        match list {
            ListKind::Tools => &self.tools,
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
        }
    }

    /// Whether nothing is waited for any more: each list was read, or could not be.
    pub fn is_known(&self) -> bool {
        ALL_LISTS.iter().all(|list| self.get(*list).is_known())
    }

    /// Those whose time is up.
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

    /// Makes all of them doubtful: they are of a session that is no more.
    pub(super) fn mark_stale(&mut self) {
        for list in ALL_LISTS {
            let list = self.get_mut(list);
            list.outdated = list.listing.is_some();
        }
    }
}

// === impl RawList ===

impl RawList {
    /// Whether it was read, or could not be.
    pub fn is_known(&self) -> bool {
        self.listing.is_some() || self.problem.is_some()
    }

    /// Whether the server may by now say something else.
    pub fn is_stale(&self) -> bool {
        let expired = self.fresh_until.is_some_and(|until| until <= Instant::now());
        self.outdated || self.problem.is_some() || expired
    }

    /// Whether a listing has the same items.
    pub(super) fn equals(&self, listing: &FetchedList) -> bool {
        let is_same = |before: &Arc<FetchedList>| {
            before.items.iter().map(Raw::as_str).eq(listing.items.iter().map(Raw::as_str))
        };
        self.problem.is_none() && self.listing.as_ref().is_some_and(is_same)
    }

    pub(super) fn from_listing(listing: FetchedList) -> Self {
        let now = Instant::now();
        Self {
            fetched_at: Some(now),
            // What nobody will live to see needs no date.
            fresh_until: listing.ttl.and_then(|ttl: Duration| now.checked_add(ttl)),
            listing: Some(Arc::new(listing)),
            problem: None,
            outdated: false,
            announced: false,
        }
    }

    pub(super) fn absent() -> Self {
        Self { listing: Some(Arc::default()), ..Self::default() }
    }
}
