//! One record of a store, used from asynchronous code: nothing blocks, and no wait is without an end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{KeyPlace, Stamp, Store, StoreError};
use crate::account::Record;

/// Long enough for somebody to unlock their keychain.
const STUCK: Duration = Duration::from_secs(60);
/// Longer than any renewal takes that another process does.
const BUSY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// A record, and where it is kept.
#[derive(Clone)]
pub(crate) struct Shelf {
    store: Arc<dyn Store>,
    key: Arc<str>,
}

/// The right to change one record, among all tasks and processes. Given back when dropped.
pub(crate) struct RecordLock {
    _held: Box<dyn Send + Sync>,
}

// === impl Shelf ===

impl Shelf {
    pub(crate) fn new(store: Arc<dyn Store>, key: &str) -> Self {
        Self { store, key: key.into() }
    }

    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.store.stamp(&self.key)
    }

    /// What is kept, with a stamp from before it was read: a change in between is seen the next time.
    pub(crate) async fn load(&self) -> Result<(Record, Option<Stamp>), StoreError> {
        let stamp = self.stamp();
        let record = self.blocking(<dyn Store>::load).await?;
        Ok((record.unwrap_or_default(), stamp))
    }

    /// What is kept, if anything is, and where the key to it is.
    pub(crate) async fn look(&self) -> Result<Option<(Record, Option<KeyPlace>)>, StoreError> {
        self.blocking(|store, key| {
            store.check()?;
            Ok(store.load(key)?.map(|record| (record, store.key_of(key))))
        })
        .await
    }

    /// Makes sure that a record can be saved, as far as that can be told beforehand. A damaged key is set aside.
    pub(crate) async fn prepare(&self) -> Result<(), StoreError> {
        self.blocking(|store, _| {
            if let Some(path) = store.set_damaged_key_aside()? {
                tracing::warn!(
                    "the key to stored sign-ins was damaged; it is now {}",
                    path.display()
                );
            }
            store.check()
        })
        .await
    }

    pub(crate) async fn save(&self, record: &Record) -> Result<Option<Stamp>, StoreError> {
        let record = record.clone();
        self.blocking(move |store, key| store.save(key, &record)).await?;
        Ok(self.stamp())
    }

    pub(crate) async fn remove(&self) -> Result<(), StoreError> {
        self.blocking(<dyn Store>::remove).await
    }

    /// Waits for the right to change the record.
    pub(crate) async fn lock(&self) -> Result<RecordLock, StoreError> {
        let until = Instant::now() + BUSY;
        loop {
            if let Some(held) = self.blocking(<dyn Store>::try_lock).await? {
                return Ok(RecordLock { _held: held });
            }
            if Instant::now() >= until {
                return Err(StoreError::Busy { seconds: BUSY.as_secs() });
            }
            sleep(PAUSE).await;
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store, &str) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (store, key) = (self.store.clone(), self.key.clone());
        let working = tokio::task::spawn_blocking(move || work(&*store, &key));
        match timeout(STUCK, working).await {
            Ok(Ok(done)) => done,
            // Neither the task's end with its runtime nor its panic leaves anything to say.
            Ok(Err(_)) | Err(_) => Err(StoreError::Stuck { seconds: STUCK.as_secs() }),
        }
    }
}
