//! Tokens of clients, the same at all replicas: the task that merges this replica's file with those of the others.
//!
//! Used by `clustering`. `switchboard token` changes the file, and needs to know of no cluster; what it changes goes to
//! the table of the cluster, and what other replicas put there into the file. It verifies no token: the faces read the
//! file (`gateway::tokens`).

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

use switchboard_cluster::{SharedTable, TableRow};
use switchboard_gateway::tokens::{SharedToken, SharedTokens, TokenStore};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

/// How often the file is looked at, which costs one `stat`.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// How often the whole table is read, and what an earlier key sealed sealed again: an old line of the key file is removed
/// after weeks.
const REVIEW_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// This replica's tokens and those of the others.
pub(super) struct TokenSync {
    table: SharedTable,
    store: TokenStore,
    known: SharedTokens,
    /// The revision of each row of the table.
    revisions: HashMap<String, u64>,
    /// The rows that this replica cannot open: of a key that it does not have yet.
    unreadable: HashSet<String>,
    /// The file at its last merge that succeeded.
    merged: Option<FileStamp>,
}

/// What differs between a file and its replacement; nothing where there is no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp(Option<(SystemTime, u64)>);

// === impl TokenSync ===

impl TokenSync {
    pub(super) fn new(table: SharedTable, state_dir: &Path) -> Self {
        let (store, known) = (TokenStore::new(state_dir), SharedTokens::new());
        let (revisions, unreadable) = (HashMap::new(), HashSet::new());
        Self { table, store, known, revisions, unreadable, merged: None }
    }

    /// Merges once, so that the tokens of the others count before the first client comes.
    pub(super) async fn merge_first(&mut self) -> Result<(), switchboard_cluster::ClusterError> {
        for row in self.table.rows().await?.into_values() {
            self.take(row);
        }
        self.merge().await;
        Ok(())
    }

    /// Merges whenever the table or the file changes.
    pub(super) async fn run(mut self, mut rows: mpsc::Receiver<TableRow>) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reviews = tokio::time::interval(REVIEW_INTERVAL);
        reviews.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_due = tokio::select! {
                row = rows.recv() => {
                    let Some(row) = row else { return };
                    let mut is_new = self.take(row);
                    while let Ok(row) = rows.try_recv() {
                        is_new |= self.take(row);
                    }
                    is_new
                }
                _ = reviews.tick() => self.review().await,
                _ = ticks.tick() => self.merged != Some(FileStamp::of(&self.store)),
            };
            if is_due {
                self.merge().await;
            }
        }
    }

    /// Reads the whole table, and seals again what another key than the present one sealed. Whether anything is new.
    async fn review(&mut self) -> bool {
        let rows = match self.table.rows().await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "tokens cannot be read");
                return false;
            }
        };
        let mut is_new = false;
        for row in rows.into_values() {
            if let (Some(value), false) = (&row.value, row.is_current) {
                // Where it fails, or another replica is faster, the next review finds it.
                let sealed = self.table.replace(&row.key, value, row.revision).await;
                tracing::debug!(id = row.key, ?sealed, "a token was sealed with the present key");
            }
            is_new |= self.take(row);
        }
        is_new
    }

    /// Takes a row of the table. Whether it says something new. NATS may show an old row: what was revoked stays so in
    /// the file, which then goes to the table again.
    fn take(&mut self, row: TableRow) -> bool {
        self.revisions.insert(row.key.clone(), row.revision);
        let token = row.value.and_then(|text| serde_json::from_slice::<SharedToken>(&text).ok());
        let Some(token) = token.filter(|token| token.id() == row.key) else {
            tracing::warn!(id = row.key, "a token of another replica cannot be read");
            self.unreadable.insert(row.key);
            return false;
        };
        self.unreadable.remove(&row.key);
        self.known.insert(row.key, token.clone()) != Some(token)
    }

    /// Merges the file with what is known, and tells the others what they do not know. What fails is tried again.
    async fn merge(&mut self) {
        // Before the file is read: a change in between is found at the next look.
        let stamp = FileStamp::of(&self.store);
        let (store, known) = (self.store.clone(), self.known.clone());
        let merged = tokio::task::spawn_blocking(move || store.merge(&known)).await;
        let unknown = match merged {
            Ok(Ok(unknown)) => unknown,
            Ok(Err(error)) => {
                return tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "tokens cannot be shared with other replicas"
                );
            }
            Err(_) => return,
        };
        self.merged = Some(stamp);
        for token in unknown {
            if let Err(error) = self.tell(&token).await {
                self.merged = None;
                return tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "other replicas do not know of a token yet"
                );
            }
        }
    }

    /// Writes a token for the others. Where another replica was faster, its row comes with the changes of the table.
    async fn tell(&mut self, token: &SharedToken) -> Result<(), switchboard_cluster::ClusterError> {
        // What cannot be read may be the end of this token.
        if !token.is_revoked() && self.unreadable.contains(token.id()) {
            return Ok(());
        }
        let Ok(text) = serde_json::to_vec(token) else { return Ok(()) };
        let revision = self.revisions.get(token.id()).copied().unwrap_or(0);
        if self.table.replace(token.id(), &text, revision).await? {
            self.known.insert(token.id().to_owned(), token.clone());
        } else {
            self.merged = None;
        }
        Ok(())
    }
}

// === impl FileStamp ===

impl FileStamp {
    fn of(store: &TokenStore) -> Self {
        let facts = std::fs::metadata(store.path()).ok();
        Self(facts.and_then(|facts| Some((facts.modified().ok()?, facts.len()))))
    }
}
