//! The question queues of an engine: one of the person who runs it, and one of each other principal that watches its own.
//!
//! Used by the engine and by the hub's consoles. What one principal is asked, with the arguments of its calls, is in no
//! queue of another. It does not hold questions ([`QuestionQueue`] does).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::queue::{QuestionQueue, QueueWatcher};
use crate::principal::LOCAL_PRINCIPAL;

/// All queues of an engine. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct QuestionQueues(Arc<Queues>);

#[derive(Debug)]
struct Queues {
    patience: Duration,
    local: QuestionQueue,
    /// The queues that are watched, by the id of their principal.
    others: Mutex<HashMap<Arc<str>, QuestionQueue>>,
}

/// A watcher of the queue of one principal, until it is dropped.
#[derive(Debug)]
pub struct PrincipalQueueWatcher {
    queues: QuestionQueues,
    principal: Arc<str>,
    queue: QuestionQueue,
    /// Always there but while it is dropped.
    watcher: Option<QueueWatcher>,
}

// === impl QuestionQueues ===

impl QuestionQueues {
    pub(crate) fn new(patience: Duration) -> Self {
        let local = QuestionQueue::new(patience);
        Self(Arc::new(Queues { patience, local, others: Mutex::default() }))
    }

    /// The queue of the person who runs the engine.
    pub(crate) fn local(&self) -> &QuestionQueue {
        &self.0.local
    }

    /// The queue of the principal with this id; `None` for another than the local one while nobody watches it.
    pub(crate) fn find(&self, principal: &str) -> Option<QuestionQueue> {
        if principal == LOCAL_PRINCIPAL {
            return Some(self.0.local.clone());
        }
        self.0.others.lock().get(principal).cloned()
    }

    /// Watches the queue of a principal from now on.
    pub(crate) fn watch(&self, principal: &Arc<str>) -> PrincipalQueueWatcher {
        let mut others = self.0.others.lock();
        let queue = if **principal == *LOCAL_PRINCIPAL {
            self.0.local.clone()
        } else {
            let new = || QuestionQueue::new(self.0.patience);
            others.entry(Arc::clone(principal)).or_insert_with(new).clone()
        };
        // Under the lock: a queue that the last watcher leaves now is not the one that is watched.
        let watcher = Some(queue.watch());
        drop(others);
        PrincipalQueueWatcher {
            queues: self.clone(),
            principal: Arc::clone(principal),
            queue,
            watcher,
        }
    }
}

// === impl PrincipalQueueWatcher ===

impl PrincipalQueueWatcher {
    /// The queue.
    pub fn queue(&self) -> &QuestionQueue {
        &self.queue
    }
}

impl Drop for PrincipalQueueWatcher {
    fn drop(&mut self) {
        let mut others = self.queues.0.others.lock();
        drop(self.watcher.take());
        if !self.queue.is_watched() {
            others.remove(&self.principal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_has_a_queue_while_it_is_watched() {
        let queues = QuestionQueues::new(Duration::from_secs(1));
        assert!(queues.find(LOCAL_PRINCIPAL).is_some());
        assert!(queues.find("user:ada").is_none());
        let ada: Arc<str> = "user:ada".into();
        let (one, other) = (queues.watch(&ada), queues.watch(&ada));
        assert!(queues.find("user:ada").unwrap().is_watched());
        assert!(queues.find("user:bob").is_none() && !queues.local().is_watched());
        drop(one);
        assert!(queues.find("user:ada").is_some(), "the queue of a page ends with another page");
        drop(other);
        assert!(queues.find("user:ada").is_none() && queues.0.others.lock().is_empty());
        drop(queues.watch(&LOCAL_PRINCIPAL.into()));
        assert!(queues.find(LOCAL_PRINCIPAL).is_some());
    }
}
