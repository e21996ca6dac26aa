//! Broadcast of change notifications from a handler to its sessions.
//!
//! Used by `gateway::bridge` and `plugin` to announce changes, by `serve` and the HTTP face to receive them. It does
//! not know which client subscribed to which change (`session`, `modern`).

use std::{fmt, future::pending, sync::Arc};

use tokio::sync::broadcast::{self, error::RecvError};

use crate::{client::ListKind, json::Raw, meta::method};

/// The most changes that may wait for one session.
const MAX_QUEUED_CHANGES: usize = 256;

/// A change that the server notifies clients of.
#[derive(Debug, Clone)]
pub enum ChangeNotification {
    /// A list changed.
    List(ListKind),
    /// A resource changed; its URI.
    Resource(String),
    /// Another notification: method and parameters. Modern clients that listen get those of extensions only.
    Other(String, Raw),
}

/// The sender of changes. Clones announce to one set of sessions.
#[derive(Clone)]
pub struct ChangeBroadcaster {
    announced: broadcast::Sender<SourcedChange>,
    /// Which sources the receivers hear of; `None`: all.
    hears: Option<SourceFilter>,
}

/// Decides by the source of a change whether a listener hears of it. Clones share the closure.
#[derive(Clone)]
pub struct SourceFilter(Arc<dyn Fn(u64) -> bool + Send + Sync>);

/// A change, with its source if only some receivers get it.
#[derive(Debug, Clone)]
pub struct SourcedChange {
    /// The change.
    pub change: ChangeNotification,
    /// The source of the change; absent: a change for all listeners.
    pub source: Option<u64>,
}

/// The receiver of changes, for one listener.
pub struct ChangeReceiver {
    announced: broadcast::Receiver<SourcedChange>,
    hears: Option<SourceFilter>,
    /// Lists that may have changed while the receiver lagged.
    missed: &'static [ListKind],
}

// === impl ChangeBroadcaster ===

impl Default for ChangeBroadcaster {
    fn default() -> Self {
        Self { announced: broadcast::channel(MAX_QUEUED_CHANGES).0, hears: None }
    }
}

impl ChangeBroadcaster {
    /// A broadcaster for receivers that hear only of the sources that `hears` accepts, and of changes without a
    /// source.
    #[must_use]
    pub fn with_source_filter(&self, hears: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        Self { announced: self.announced.clone(), hears: Some(SourceFilter::new(hears)) }
    }

    /// Announces a change to all current receivers.
    pub fn announce(&self, change: ChangeNotification) {
        // Without receivers, `send` fails; the change is then of no use.
        let _ = self.announced.send(SourcedChange::for_all(change));
    }

    /// Announces a change to the receivers that hear of its source.
    pub fn announce_from(&self, source: u64, change: ChangeNotification) {
        let _ = self.announced.send(SourcedChange { change, source: Some(source) });
    }

    /// A receiver of all later changes.
    pub fn listen(&self) -> ChangeReceiver {
        ChangeReceiver {
            announced: self.announced.subscribe(),
            hears: self.hears.clone(),
            missed: &[],
        }
    }
}

impl fmt::Debug for ChangeBroadcaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

// === impl ChangeReceiver ===

impl ChangeReceiver {
    /// Returns the next change. Waits forever once all broadcasters are dropped. Cancel-safe.
    pub async fn next(&mut self) -> SourcedChange {
        if let [list, rest @ ..] = self.missed {
            self.missed = rest;
            return SourcedChange::for_all(ChangeNotification::List(*list));
        }
        loop {
            match self.announced.recv().await {
                Ok(announced) if self.passes_filter(&announced) => return announced,
                Ok(_) => {}
                // The receiver lagged and the lost changes are unknown, so all lists may have changed.
                Err(RecvError::Lagged(_)) => {
                    self.missed = &[ListKind::Prompts, ListKind::Resources];
                    return SourcedChange::for_all(ChangeNotification::List(ListKind::Tools));
                }
                Err(RecvError::Closed) => return pending().await,
            }
        }
    }

    fn passes_filter(&self, announced: &SourcedChange) -> bool {
        self.hears.as_ref().is_none_or(|hears| hears.passes(announced))
    }
}

impl fmt::Debug for ChangeReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("News").finish_non_exhaustive()
    }
}

// === impl SourceFilter ===

impl SourceFilter {
    /// A filter that takes the sources that `hears` takes.
    pub fn new(hears: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(hears))
    }

    /// A change without a source passes every filter.
    pub(super) fn passes(&self, announced: &SourcedChange) -> bool {
        announced.source.is_none_or(|source| (self.0)(source))
    }
}

impl fmt::Debug for SourceFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFilter").finish_non_exhaustive()
    }
}

// === impl SourcedChange ===

impl SourcedChange {
    fn for_all(change: ChangeNotification) -> Self {
        Self { change, source: None }
    }
}

// === impl ChangeNotification ===

impl ChangeNotification {
    /// The method of the notification.
    pub(crate) fn method(&self) -> &str {
        match self {
            Self::List(ListKind::Tools) => method::TOOLS_CHANGED,
            Self::List(ListKind::Prompts) => method::PROMPTS_CHANGED,
            Self::List(ListKind::Resources | ListKind::Templates) => method::RESOURCES_CHANGED,
            Self::Resource(_) => method::RESOURCE_UPDATED,
            Self::Other(method, _) => method,
        }
    }

    /// The parameters of the notification.
    pub(crate) fn params(&self) -> Raw {
        match self {
            Self::List(_) => Raw::empty_object(),
            Self::Resource(uri) => {
                Raw::from_trusted(format!(r#"{{"uri":{}}}"#, crate::json::quote(uri)).into())
            }
            Self::Other(_, params) => params.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_listener_hears_of_its_own_sources() {
        let changes = ChangeBroadcaster::default();
        let mut news = changes.with_source_filter(|source| source == 1).listen();
        changes.announce_from(2, ChangeNotification::Resource("a:other".into()));
        changes.announce_from(1, ChangeNotification::Resource("a:own".into()));
        changes.announce(ChangeNotification::Resource("a:all".into()));
        let mut heard = || match news.next().now_or_never()?.change {
            ChangeNotification::Resource(uri) => Some(uri),
            _ => None,
        };
        assert_eq!(heard().as_deref(), Some("a:own"));
        assert_eq!(heard().as_deref(), Some("a:all"));
        assert_eq!(heard(), None);
    }

    #[tokio::test]
    async fn whoever_misses_changes_hears_of_every_list() {
        let changes = ChangeBroadcaster::default();
        let mut news = changes.listen();
        for _ in 0..=MAX_QUEUED_CHANGES {
            changes.announce(ChangeNotification::Resource("a:b".into()));
        }
        for expected in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            assert!(
                matches!(news.next().await.change, ChangeNotification::List(list) if list == expected)
            );
        }
        assert!(
            matches!(news.next().await.change, ChangeNotification::Resource(_)),
            "what is still there comes too"
        );
        drop(changes);
        while news.next().now_or_never().is_some() {}
        assert!(news.next().now_or_never().is_none(), "nobody can announce any more");
    }
}
