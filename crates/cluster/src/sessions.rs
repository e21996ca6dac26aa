//! Sessions that every replica can continue: an id that says what never changes, and a record of what does.
//!
//! Used by the program, which gives the id to a client. The id is a sealed value, so a replica needs no directory to
//! know a session; the record is written only when something changes. NATS sees a random number for each session. It
//! does not know what a client or a setting is: both are bytes here.

use std::sync::Arc;
use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::ended::EndedSessions;
use crate::heartbeat::now_millis;
use crate::keys::Digest;
use crate::nats::{Bucket, BucketPlan, NatsConnection};
use crate::{ClusterError, ClusterKeys, ClusterName, KeyId, KeyPurpose, SealedValueError};

/// How long a session may last, from its beginning.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The largest description of a client.
pub const MAX_CLIENT_BYTES: usize = 64 * 1024;
/// The largest record with what has changed in a session.
const MAX_SETTINGS_BYTES: usize = 256 * 1024;

/// How long records stay: longer than any id, so that no ended session comes back.
const RECORD_AGE: Duration = Duration::from_secs(8 * 24 * 60 * 60);
/// What sealing and the envelope of a record add.
const OVERHEAD_BYTES: usize = 4096;
/// The bytes of all records of a bucket.
const MAX_BUCKET_BYTES: i64 = 256 << 20;
/// How often a change is tried while other replicas change the same session.
const MAX_CHANGE_ATTEMPTS: usize = 16;
/// The changes that wait to be applied.
const CHANGE_QUEUE: usize = 1024;
/// The pause before a watch that ended is opened again.
const WATCH_RETRY: Duration = Duration::from_secs(1);
/// The format of records. A program reads its own and the earlier ones. It neither uses nor overwrites a record of a
/// later one: the session is refused until this replica has that version, too.
const RECORD_FORMAT: u32 = 1;
/// The bytes of a ticket: the record's name, the client's digest, the time of birth.
const TICKET_BYTES: usize = 16 + 16 + 8;

/// The sessions of a cluster.
#[derive(Debug, Clone)]
pub struct SessionStore {
    keys: ClusterKeys,
    records: Bucket,
    clients: Bucket,
    /// The sessions whose end this replica has seen, so that NATS cannot undo it.
    ended: Arc<EndedSessions>,
}

/// The name of a session's record: random, known to those who can open the session's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionName(String);

/// A session that another replica began.
#[derive(Debug, Clone)]
pub struct StoredSession {
    /// The name of its record.
    pub name: SessionName,
    /// What its client said of itself.
    pub client: Vec<u8>,
    /// What has changed since it began.
    pub record: SessionRecord,
}

/// What has changed in a session since it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    format: u32,
    /// The number of changes. A replica that has seen a higher one ignores the record: NATS may show an old one.
    pub version: u64,
    /// Whether its client has ended it.
    pub ended: bool,
    /// What its client has set.
    pub settings: Option<String>,
}

/// Why a record is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum RecordFault {
    #[error("the key file of this replica has no key {0}; it needs all lines of the others")]
    UnknownKey(KeyId),
    #[error("a replica of a later version wrote it (format {0})")]
    LaterFormat(u32),
    #[error("no replica of this cluster sealed it for this place, or it was changed")]
    Foreign,
}

/// What a session id says.
struct SessionTicket {
    name: [u8; 16],
    client: Digest,
    born: u64,
}

// === impl SessionStore ===

impl SessionStore {
    /// Opens the buckets of a cluster, made if there are none.
    pub(crate) async fn open(
        nats: &NatsConnection,
        name: &ClusterName,
        keys: ClusterKeys,
    ) -> Result<Self, ClusterError> {
        let plan = |kind: &str, description, max_value_bytes: usize| BucketPlan {
            name: format!("switchboard_{name}_{kind}"),
            description,
            max_age: RECORD_AGE,
            max_value_bytes: i32::try_from(max_value_bytes + OVERHEAD_BYTES).unwrap_or(i32::MAX),
            max_bytes: MAX_BUCKET_BYTES,
        };
        let sessions = plan("sessions", "Switchboard: changes of sessions", MAX_SETTINGS_BYTES);
        let clients = plan("clients", "Switchboard: clients of sessions", MAX_CLIENT_BYTES);
        Ok(Self {
            keys,
            records: Bucket::open_or_create(nats, &sessions).await?,
            clients: Bucket::open_or_create(nats, &clients).await?,
            ended: Arc::default(),
        })
    }

    /// Begins a session of `owner`, whose client described itself in `client`. Returns the id for the client.
    pub async fn begin(
        &self,
        owner: &str,
        client: &[u8],
    ) -> Result<(SessionName, String), ClusterError> {
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(|_| ClusterError::Random)?;
        let ticket = SessionTicket { name, client: self.keys.digest(client)?, born: now_millis() };
        let id = self.keys.seal(KeyPurpose::SessionId, owner, &ticket.to_bytes())?;
        let key = hex(&ticket.client);
        // Written again with each session, so that it outlives all of them.
        let sealed = self.keys.seal(KeyPurpose::ClientDescription, &key, client)?;
        self.clients.put(&key, sealed).await?;
        Ok((SessionName(hex(&name)), URL_SAFE_NO_PAD.encode(id)))
    }

    /// Looks up a session of `owner` by its id; `None` if there is no such session any more, or never was.
    pub async fn find(&self, owner: &str, id: &str) -> Result<Option<StoredSession>, ClusterError> {
        let Some(ticket) = self.open_id(owner, id) else { return Ok(None) };
        let (name, client_key) = (SessionName(hex(&ticket.name)), hex(&ticket.client));
        let (client, record) = tokio::try_join!(self.clients.get(&client_key), self.record(&name))?;
        let Some(sealed) = client.filter(|_| !record.ended) else { return Ok(None) };
        match self.keys.open(KeyPurpose::ClientDescription, &client_key, &sealed) {
            Ok(client) => Ok(Some(StoredSession { name, client, record })),
            Err(SealedValueError::UnknownKey(key)) => {
                Err(RecordFault::UnknownKey(key).into_error("read the client of a session"))
            }
            Err(error) => {
                tracing::warn!(%error, "the description of a client was refused");
                Ok(None)
            }
        }
    }

    /// Reads what has changed in a session.
    pub async fn record(&self, name: &SessionName) -> Result<SessionRecord, ClusterError> {
        let (read, _) = self.read(name).await?;
        match read {
            Ok(record) => Ok(record),
            // A record that NATS has changed ends the session: whether its client ended it is not known.
            Err(RecordFault::Foreign) => Ok(SessionRecord::ended()),
            Err(fault) => Err(fault.into_error("read a session")),
        }
    }

    /// Changes the record of a session. `edit` may run several times, each time on what is there then. A record that
    /// this replica cannot open stays as it is.
    pub async fn change(
        &self,
        name: &SessionName,
        edit: impl Fn(&mut SessionRecord),
    ) -> Result<SessionRecord, ClusterError> {
        let action = "change a session";
        self.rewrite(name, action, |read| {
            let mut record = read.map_err(|fault| fault.into_error(action))?;
            edit(&mut record);
            Ok(record)
        })
        .await
    }

    /// Ends a session for all replicas. Of a record that cannot be opened nothing is needed any more.
    pub async fn end(&self, name: &SessionName) -> Result<(), ClusterError> {
        let end = |read: Result<SessionRecord, RecordFault>| {
            Ok(SessionRecord { ended: true, ..read.unwrap_or_default() })
        };
        self.rewrite(name, "end a session", end).await.map(drop)
    }

    async fn rewrite(
        &self,
        name: &SessionName,
        action: &'static str,
        edit: impl Fn(Result<SessionRecord, RecordFault>) -> Result<SessionRecord, ClusterError>,
    ) -> Result<SessionRecord, ClusterError> {
        for _ in 0..MAX_CHANGE_ATTEMPTS {
            let (read, revision) = self.read(name).await?;
            let mut record = edit(read)?;
            record.format = RECORD_FORMAT;
            record.version += 1;
            let text = serde_json::to_vec(&record)
                .map_err(|error| ClusterError::store("write a session", error))?;
            let sealed = self.keys.seal(KeyPurpose::SessionRecord, &name.0, &text)?;
            if self.records.put_if_unchanged(&name.0, sealed, revision).await? {
                self.note_end(name, &record);
                return Ok(record);
            }
        }
        Err(ClusterError::Contended { action })
    }

    /// Follows the changes of all sessions, of this replica's, too, until the receiver is dropped.
    pub async fn follow(
        &self,
    ) -> Result<mpsc::Receiver<(SessionName, SessionRecord)>, ClusterError> {
        let watch = self.records.watch(None).await?;
        let (sender, receiver) = mpsc::channel(CHANGE_QUEUE);
        tokio::spawn(self.clone().forward(watch, sender));
        Ok(receiver)
    }

    async fn forward(
        self,
        mut watch: async_nats::jetstream::kv::Watch,
        changes: mpsc::Sender<(SessionName, SessionRecord)>,
    ) {
        let mut last = None;
        loop {
            let entry = tokio::select! {
                entry = watch.next() => entry,
                () = changes.closed() => return,
            };
            match entry {
                Some(Ok(entry)) => {
                    last = Some(entry.revision);
                    let name = SessionName(entry.key);
                    if let Ok(record) = self.open_record(&name, &entry.value)
                        && changes.send((name, record)).await.is_err()
                    {
                        return;
                    }
                }
                Some(Err(error)) => tracing::debug!(%error, "the watch of sessions"),
                None => {
                    tokio::time::sleep(WATCH_RETRY).await;
                    match self.records.watch(last).await {
                        Ok(again) => watch = again,
                        Err(error) => tracing::debug!(%error, "sessions are not watched"),
                    }
                }
            }
        }
    }

    /// The record with its revision, 0 if nothing has changed yet.
    async fn read(
        &self,
        name: &SessionName,
    ) -> Result<(Result<SessionRecord, RecordFault>, u64), ClusterError> {
        let Some((sealed, revision)) = self.records.get_latest(&name.0).await? else {
            // NATS may also have dropped the record.
            let ended = self.ended.contains(name);
            return Ok((Ok(SessionRecord { ended, ..SessionRecord::default() }), 0));
        };
        Ok((self.open_record(name, &sealed), revision))
    }

    /// Opens a record, and remembers if it says that the session has ended. A session that has ended stays so.
    fn open_record(
        &self,
        name: &SessionName,
        sealed: &Bytes,
    ) -> Result<SessionRecord, RecordFault> {
        let mut record = self.open_sealed(name, sealed).inspect_err(|error| {
            tracing::warn!(%error, "the record of a session was refused");
        })?;
        if !record.ended && self.ended.contains(name) {
            tracing::warn!("NATS shows a session as it was before its end; it stays ended");
            record.ended = true;
        }
        self.note_end(name, &record);
        Ok(record)
    }

    fn open_sealed(&self, name: &SessionName, sealed: &[u8]) -> Result<SessionRecord, RecordFault> {
        let opened = self.keys.open(KeyPurpose::SessionRecord, &name.0, sealed);
        let text = opened.map_err(|error| match error {
            SealedValueError::UnknownKey(key) => RecordFault::UnknownKey(key),
            SealedValueError::Foreign => RecordFault::Foreign,
        })?;
        SessionRecord::of_text(&text)
    }

    fn note_end(&self, name: &SessionName, record: &SessionRecord) {
        if record.ended {
            self.ended.insert(name);
        }
    }

    fn open_id(&self, owner: &str, id: &str) -> Option<SessionTicket> {
        let sealed = URL_SAFE_NO_PAD.decode(id).ok()?;
        let bytes = self.keys.open(KeyPurpose::SessionId, owner, &sealed).ok()?;
        let ticket = SessionTicket::from_bytes(&bytes)?;
        let age = Duration::from_millis(now_millis().saturating_sub(ticket.born));
        (age < SESSION_LIFETIME).then_some(ticket)
    }
}

// === impl SessionRecord ===

impl SessionRecord {
    fn ended() -> Self {
        Self { ended: true, ..Self::default() }
    }

    fn of_text(text: &[u8]) -> Result<Self, RecordFault> {
        /// The one member that every format has.
        #[derive(Deserialize)]
        struct RecordVersion {
            format: u32,
        }

        let version: RecordVersion =
            serde_json::from_slice(text).map_err(|_| RecordFault::Foreign)?;
        match version.format {
            1..=RECORD_FORMAT => serde_json::from_slice(text).map_err(|_| RecordFault::Foreign),
            later => Err(RecordFault::LaterFormat(later)),
        }
    }
}

// === impl RecordFault ===

impl RecordFault {
    fn into_error(self, action: &'static str) -> ClusterError {
        ClusterError::Unreadable { action, reason: self.to_string() }
    }
}

// === impl SessionName ===

impl SessionName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that [`SessionName::as_str`] gave.
    pub fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }
}

// === impl SessionTicket ===

impl SessionTicket {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.name[..], &self.client[..], &self.born.to_le_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TICKET_BYTES] = bytes.try_into().ok()?;
        let (name, rest) = bytes.split_first_chunk()?;
        let (client, rest) = rest.split_first_chunk()?;
        let born = u64::from_le_bytes(*rest.first_chunk()?);
        Some(Self { name: *name, client: *client, born })
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_as_it_was_written() {
        let ticket = SessionTicket { name: [1; 16], client: [2; 16], born: 3 };
        let bytes = ticket.to_bytes();
        let read = SessionTicket::from_bytes(&bytes).unwrap();
        assert_eq!((read.name, read.client, read.born), ([1; 16], [2; 16], 3));
        assert!(SessionTicket::from_bytes(&bytes[1..]).is_none());
        assert!(SessionTicket::from_bytes(&[&bytes[..], &[0]].concat()).is_none());
    }
}
