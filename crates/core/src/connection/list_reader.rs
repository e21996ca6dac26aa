//! Reads the lists of one session, each list at most once at a time.
//!
//! Used by `connection::session`. A request that arrives while a list is read makes it read once more. A server may
//! announce changed tools each time it is asked for them, so a list that changes all the time is read at a limited
//! rate.

use std::{collections::HashMap, time::Duration};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use switchboard_wire::{
    self as wire,
    client::{Client, FetchedList, ListKind},
};
use tokio::time::Instant;

use super::task_requests::ReadUrgency;

/// How many reads in a row may happen without the minimum interval.
const MAX_HASTY_READS: u32 = 3;

/// The list reads of one session.
pub(super) struct ListReader {
    client: Client,
    under_way: FuturesUnordered<BoxFuture<'static, ListReadResult>>,
    progress: HashMap<ListKind, ListReadProgress>,
    /// The minimum interval between two reads of a list that is merely old, or that changes all the time.
    between: Duration,
}

/// The result of reading a list.
pub(super) type ListReadResult = (ListKind, Result<FetchedList, wire::Error>);

struct ListReadProgress {
    began: Instant,
    /// Whether the list is being read.
    under_way: bool,
    /// Whether the list is to be read once more after that.
    again: bool,
    /// How many reads in a row came within the minimum interval.
    haste: u32,
}

// === impl ListReader ===

impl ListReader {
    pub(super) fn new(client: Client, between: Duration) -> Self {
        Self { client, under_way: FuturesUnordered::new(), progress: HashMap::new(), between }
    }

    /// Begins to read a list, unless that would be too often.
    pub(super) fn ask(&mut self, list: ListKind, urgency: ReadUrgency) {
        match self.progress.get_mut(&list) {
            Some(progress) if progress.under_way => progress.again |= urgency == ReadUrgency::Now,
            Some(progress)
                if urgency == ReadUrgency::WhenOld && progress.began.elapsed() < self.between => {}
            _ => self.begin(list),
        }
    }

    /// Whether any list is being read.
    pub(super) fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    fn begin(&mut self, list: ListKind) {
        let now = Instant::now();
        let (haste, began) = match self.progress.get(&list) {
            Some(before) if now < before.began + self.between => {
                let haste = before.haste + 1;
                (haste, if haste > MAX_HASTY_READS { before.began + self.between } else { now })
            }
            _ => (0, now),
        };
        self.progress
            .insert(list, ListReadProgress { began, under_way: true, again: false, haste });
        let client = self.client.clone();
        self.under_way.push(Box::pin(async move {
            tokio::time::sleep_until(began).await;
            (list, client.list(list).await)
        }));
    }

    /// Returns the next list that was read; waits forever if none is being read. Cancel-safe.
    pub(super) async fn next(&mut self) -> ListReadResult {
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
