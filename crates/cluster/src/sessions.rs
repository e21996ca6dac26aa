//! Sessions that every replica can continue: an id that says what never changes, and a record of what does.
//!
//! Used by the program, which gives the id to a client. The id is a sealed value, so a replica needs no directory to
//! know a session; the record is written only when something changes. NATS sees a random number for each session. It
//! does not know what a client or a setting is: both are bytes here.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::heartbeat::now_millis;
use crate::keys::Digest;
use crate::nats::{Bucket, BucketPlan, NatsConnection};
use crate::{ClusterError, ClusterKeys, ClusterName, KeyPurpose};

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
const MAX_BUCKET_BYTES: i64 = 1 << 30;
/// How often a change is tried while other replicas change the same session.
const MAX_CHANGE_ATTEMPTS: usize = 16;
/// The changes that wait to be applied.
const CHANGE_QUEUE: usize = 1024;
/// The pause before a watch that ended is opened again.
const WATCH_RETRY: Duration = Duration::from_secs(1);
/// The format of records. A program reads its own and the one before.
const RECORD_FORMAT: u32 = 1;
/// The bytes of a ticket: the record's name, the client's digest, the time of birth.
const TICKET_BYTES: usize = 16 + 16 + 8;

/// The sessions of a cluster.
#[derive(Debug, Clone)]
pub struct SessionStore {
    keys: ClusterKeys,
    records: Bucket,
    clients: Bucket,
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
        let client = client
            .map(|sealed| self.keys.open(KeyPurpose::ClientDescription, &client_key, &sealed));
        match client {
            Some(Ok(client)) if !record.ended => Ok(Some(StoredSession { name, client, record })),
            Some(Err(error)) => {
                tracing::warn!(%error, "the description of a client was refused");
                Ok(None)
            }
            Some(Ok(_)) | None => Ok(None),
        }
    }

    /// Reads what has changed in a session.
    pub async fn record(&self, name: &SessionName) -> Result<SessionRecord, ClusterError> {
        Ok(self.read(name).await?.0)
    }

    /// Changes the record of a session. `edit` may run several times, each time on what is there then.
    pub async fn change(
        &self,
        name: &SessionName,
        edit: impl Fn(&mut SessionRecord),
    ) -> Result<SessionRecord, ClusterError> {
        for _ in 0..MAX_CHANGE_ATTEMPTS {
            let (mut record, revision) = self.read(name).await?;
            edit(&mut record);
            record.format = RECORD_FORMAT;
            record.version += 1;
            let text = serde_json::to_vec(&record)
                .map_err(|error| ClusterError::store("write a session", error))?;
            let sealed = self.keys.seal(KeyPurpose::SessionRecord, &name.0, &text)?;
            if self.records.put_if_unchanged(&name.0, sealed, revision).await? {
                return Ok(record);
            }
        }
        Err(ClusterError::Contended { action: "change a session" })
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
                    let change = self.open_record(&name, &entry.value).map(|record| (name, record));
                    if let Some(change) = change
                        && changes.send(change).await.is_err()
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
    async fn read(&self, name: &SessionName) -> Result<(SessionRecord, u64), ClusterError> {
        let Some((sealed, revision)) = self.records.get_latest(&name.0).await? else {
            return Ok((SessionRecord::default(), 0));
        };
        // A record that cannot be trusted ends the session: whether its client ended it is not known.
        let ended = SessionRecord { ended: true, ..SessionRecord::default() };
        Ok((self.open_record(name, &sealed).unwrap_or(ended), revision))
    }

    fn open_record(&self, name: &SessionName, sealed: &Bytes) -> Option<SessionRecord> {
        let text = match self.keys.open(KeyPurpose::SessionRecord, &name.0, sealed) {
            Ok(text) => text,
            Err(error) => {
                tracing::warn!(%error, "the record of a session was refused");
                return None;
            }
        };
        let record: SessionRecord = serde_json::from_slice(&text).ok()?;
        (record.format == RECORD_FORMAT).then_some(record)
    }

    fn open_id(&self, owner: &str, id: &str) -> Option<SessionTicket> {
        let sealed = URL_SAFE_NO_PAD.decode(id).ok()?;
        let bytes = self.keys.open(KeyPurpose::SessionId, owner, &sealed).ok()?;
        let ticket = SessionTicket::from_bytes(&bytes)?;
        let age = Duration::from_millis(now_millis().saturating_sub(ticket.born));
        (age < SESSION_LIFETIME).then_some(ticket)
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
