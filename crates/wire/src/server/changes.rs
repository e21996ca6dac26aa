//! Word of changes, from a handler to every session that wants to hear of them.

use std::future::pending;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::{client::List, json::Raw, meta::method};

/// Changes that may wait for one session.
const QUEUE: usize = 256;

/// Something is not what it was.
#[derive(Debug, Clone)]
pub enum Change {
    /// A list.
    List(List),
    /// A resource.
    Resource(String),
    /// Any other notification to clients of legacy versions: method and parameters.
    Other(String, Raw),
}

/// Where a handler announces changes. Clones announce to the same sessions.
#[derive(Debug, Clone)]
pub struct Changes(broadcast::Sender<Change>);

/// Changes as one listener hears of them.
#[derive(Debug)]
pub struct News {
    announced: broadcast::Receiver<Change>,
    /// Lists that may have changed while it did not listen.
    missed: &'static [List],
}

// === impl Changes ===

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(QUEUE).0)
    }
}

impl Changes {
    /// Announces a change to the sessions there are.
    pub fn announce(&self, change: Change) {
        // Nobody listening is no failure.
        let _ = self.0.send(change);
    }

    /// Hears of everything that is announced from here on.
    pub fn listen(&self) -> News {
        News { announced: self.0.subscribe(), missed: &[] }
    }
}

// === impl News ===

impl News {
    /// The next change; never, once nobody can announce any. Safe to cancel.
    pub async fn next(&mut self) -> Change {
        if let [list, rest @ ..] = self.missed {
            self.missed = rest;
            return Change::List(*list);
        }
        match self.announced.recv().await {
            Ok(change) => change,
            // Which ones were missed nobody knows; so all lists may have changed.
            Err(RecvError::Lagged(_)) => {
                self.missed = &[List::Prompts, List::Resources];
                Change::List(List::Tools)
            }
            Err(RecvError::Closed) => pending().await,
        }
    }
}

// === impl Change ===

impl Change {
    /// The notification it becomes.
    pub(crate) fn method(&self) -> &str {
        match self {
            Self::List(List::Tools) => method::TOOLS_CHANGED,
            Self::List(List::Prompts) => method::PROMPTS_CHANGED,
            Self::List(List::Resources | List::Templates) => method::RESOURCES_CHANGED,
            Self::Resource(_) => method::RESOURCE_UPDATED,
            Self::Other(method, _) => method,
        }
    }

    /// Its parameters.
    pub(crate) fn params(&self) -> Raw {
        match self {
            Self::List(_) => Raw::empty_object(),
            Self::Resource(uri) => {
                Raw::trusted(format!(r#"{{"uri":{}}}"#, crate::json::quote(uri)).into())
            }
            Self::Other(_, params) => params.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn whoever_misses_changes_hears_of_every_list() {
        let changes = Changes::default();
        let mut news = changes.listen();
        for _ in 0..=QUEUE {
            changes.announce(Change::Resource("a:b".into()));
        }
        for expected in [List::Tools, List::Prompts, List::Resources] {
            assert!(matches!(news.next().await, Change::List(list) if list == expected));
        }
        assert!(matches!(news.next().await, Change::Resource(_)), "what is still there comes too");
        drop(changes);
        while let Some(Change::Resource(_)) = news.next().now_or_never() {}
        assert!(news.next().now_or_never().is_none(), "nobody can announce any more");
    }
}
