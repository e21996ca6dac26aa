//! Which lists are being read just now. A list is read once at a time; asked for meanwhile, once more.
//!
//! A server may say that its tools have changed each time it is asked for them. So a list that changes
//! all the time is read only so often.

use std::{collections::HashMap, time::Duration};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use switchboard_wire::{
    self as wire,
    client::{Client, List, Listing},
};
use tokio::time::Instant;

use super::requests::Urgency;

/// How often in a row a list is read at once, however short a while ago it was read before.
const HASTE: u32 = 3;

/// Lists being read from one session.
pub(super) struct Reading {
    client: Client,
    under_way: FuturesUnordered<BoxFuture<'static, Read>>,
    progress: HashMap<List, Progress>,
    /// The least time between two readings of a list that is merely old, or that changes all the time.
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
    /// How often in a row it was read sooner than is good.
    haste: u32,
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

    /// Whether any list is being read.
    pub(super) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    fn begin(&mut self, list: List) {
        let now = Instant::now();
        let (haste, began) = match self.progress.get(&list) {
            Some(before) if now < before.began + self.between => {
                let haste = before.haste + 1;
                (haste, if haste > HASTE { before.began + self.between } else { now })
            }
            _ => (0, now),
        };
        self.progress.insert(list, Progress { began, under_way: true, again: false, haste });
        let client = self.client.clone();
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep_until(began).await;
            (list, client.list(list).await)
        }));
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
