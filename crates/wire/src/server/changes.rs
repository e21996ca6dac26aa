//! Word of changes, from a handler to every session that wants to hear of them.

use tokio::sync::broadcast;

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

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}

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
