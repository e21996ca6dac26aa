//! Which lists are being read just now. A list is read once at a time; asked for meanwhile, once more.

use std::{collections::HashMap, time::Duration};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use switchboard_wire::{
    self as wire,
    client::{Client, List, Listing},
};
use tokio::time::Instant;

use super::requests::Urgency;

/// Lists being read from one session.
pub(super) struct Reading {
    client: Client,
    under_way: FuturesUnordered<BoxFuture<'static, Read>>,
    progress: HashMap<List, Progress>,
    /// The least time between two readings of a list that is merely old.
    between: Duration,
}

/// What came of reading a list.
pub(super) type Read = (List, Result<Listing, wire::Error>);

struct Progress {
    began: Instant,
    /// Whether it is being read.
    under_way: bool,
    /// Whether it is to be read once more after that.
    again: bool,
}

// === impl Reading ===

impl Reading {
    pub(super) fn new(client: Client, between: Duration) -> Self {
        Self { client, under_way: FuturesUnordered::new(), progress: HashMap::new(), between }
    }

    /// Begins to read a list, unless that would be too often.
    pub(super) fn ask(&mut self, list: List, urgency: Urgency) {
        match self.progress.get_mut(&list) {
            Some(progress) if progress.under_way => progress.again |= urgency == Urgency::Now,
            Some(progress)
                if urgency == Urgency::WhenOld && progress.began.elapsed() < self.between => {}
            _ => self.begin(list),
        }
    }

    fn begin(&mut self, list: List) {
        let progress = Progress { began: Instant::now(), under_way: true, again: false };
        self.progress.insert(list, progress);
        let client = self.client.clone();
        self.under_way.push(Box::pin(async move { (list, client.list(list).await) }));
    }

    /// The next list that was read; never if none is being read. Safe to cancel.
    pub(super) async fn next(&mut self) -> Read {
        let Some((list, read)) = self.under_way.next().await else {
            return std::future::pending().await;
        };
        let again = self.progress.get_mut(&list).is_some_and(|progress| {
            progress.under_way = false;
            std::mem::take(&mut progress.again)
        });
        if again {
            self.begin(list);
        }
        (list, read)
    }
}
