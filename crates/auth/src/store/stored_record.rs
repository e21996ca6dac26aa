//! One record of a store for asynchronous code: calls run on blocking threads, and every wait has a timeout.
//!
//! Used by `sign_in` and `organisation`.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{KeyLocation, RecordStamp, SignInStore, SignInStoreError};
use crate::account::SignInRecord;

/// Long enough for the user to unlock the keychain.
const STORE_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than a renewal by another process takes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A record in a store.
#[derive(Clone)]
pub(crate) struct StoredRecord {
    store: Arc<dyn SignInStore>,
    key: Arc<str>,
}

/// The lock on one record among all tasks and processes. Released on drop.
pub(crate) struct RecordLock {
    _held: Box<dyn Send + Sync>,
}

// === impl StoredRecord ===

impl StoredRecord {
    pub(crate) fn new(store: Arc<dyn SignInStore>, key: &str) -> Self {
        Self { store, key: key.into() }
    }

    pub(crate) fn stamp(&self) -> Option<RecordStamp> {
        self.store.stamp(&self.key)
    }

    /// Loads the record, with a stamp taken before the read, so that a change during the read shows at the
    /// next comparison.
    pub(crate) async fn load(
        &self,
    ) -> Result<(SignInRecord, Option<RecordStamp>), SignInStoreError> {
        let stamp = self.stamp();
        let record = self.blocking(<dyn SignInStore>::load).await?;
        Ok((record.unwrap_or_default(), stamp))
    }

    /// Loads the record if there is one, and says where its key is.
    pub(crate) async fn inspect(
        &self,
    ) -> Result<Option<(SignInRecord, Option<KeyLocation>)>, SignInStoreError> {
        self.blocking(|store, key| {
            store.check()?;
            Ok(store.load(key)?.map(|record| (record, store.key_location_of(key))))
        })
        .await
    }

    /// Checks beforehand that a record can be saved. A damaged key is set aside.
    pub(crate) async fn prepare(&self) -> Result<(), SignInStoreError> {
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

    pub(crate) async fn save(
        &self,
        record: &SignInRecord,
    ) -> Result<Option<RecordStamp>, SignInStoreError> {
        let record = record.clone();
        self.blocking(move |store, key| store.save(key, &record)).await?;
        Ok(self.stamp())
    }

    pub(crate) async fn remove(&self) -> Result<(), SignInStoreError> {
        self.blocking(<dyn SignInStore>::remove).await
    }

    /// Waits for the lock on the record.
    pub(crate) async fn lock(&self) -> Result<RecordLock, SignInStoreError> {
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            if let Some(held) = self.blocking(<dyn SignInStore>::try_lock).await? {
                return Ok(RecordLock { _held: held });
            }
            if Instant::now() >= until {
                return Err(SignInStoreError::Busy { seconds: LOCK_TIMEOUT.as_secs() });
            }
            sleep(LOCK_POLL_INTERVAL).await;
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn SignInStore, &str) -> Result<T, SignInStoreError> + Send + 'static,
    ) -> Result<T, SignInStoreError> {
        let (store, key) = (self.store.clone(), self.key.clone());
        let working = tokio::task::spawn_blocking(move || work(&*store, &key));
        match timeout(STORE_TIMEOUT, working).await {
            Ok(Ok(done)) => done,
            // The blocking task panicked or ended with its runtime; there is no error to pass on.
            Ok(Err(_)) | Err(_) => {
                Err(SignInStoreError::Stuck { seconds: STORE_TIMEOUT.as_secs() })
            }
        }
    }
}
