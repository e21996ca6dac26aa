//! One kept catalog as a file: a server's facts and lists, with their time and digest.
//!
//! Used by `connection::catalog_store`. Items stay the text that the server sent. It does not read or write files.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use switchboard_config::Scope;
use switchboard_wire::client::{ExcludedItem, FetchedList, ListKind, ServerFacts};
use switchboard_wire::json::Raw;
use switchboard_wire::{Era, Version};
use tokio::time::Instant;

use super::key::ConnectionKey;
use super::lists::{ALL_LISTS, RawList, RawLists};

/// The largest catalog that is kept.
pub(super) const MAX_CATALOG_BYTES: u64 = 4 << 20;
/// The version of the file's form. A file of another version is not used.
const FORM: u32 = 1;

/// A kept catalog.
#[derive(Debug, Clone)]
pub(crate) struct CatalogRecord {
    /// The server's facts and lists; each list waits for its server to confirm it.
    pub(crate) lists: RawLists,
    /// When the lists were read.
    pub(crate) read_at: SystemTime,
    /// The id of the sign-in that the lists were read with.
    pub(crate) sign_in_id: Option<String>,
    /// The key of the server's address in the era cache.
    pub(crate) target: Option<String>,
    /// The entry that the connection was made from.
    pub(crate) origin: Option<CatalogOrigin>,
}

/// The place of an entry in the configuration, as a digest. It is the same in every environment and project, unlike
/// the keys of connections, so a process that cannot compute those keys finds the catalogs of an entry by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CatalogOrigin(String);

/// Why a file is no catalog of its server.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
    #[error("it is no file, or larger than {MAX_CATALOG_BYTES} bytes")]
    Size,
    #[error("{0}")]
    Syntax(#[from] serde_json::Error),
    #[error("it was written in another form, or for another server")]
    Foreign,
    #[error("its content does not match its digest")]
    Digest,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatalogFile {
    form: u32,
    key: String,
    read_at: u64,
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sign_in: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<CatalogOrigin>,
    catalog: Raw,
}

/// The part of the file that names the server of the catalog.
#[derive(Deserialize)]
struct OriginText {
    origin: Option<CatalogOrigin>,
}

/// The part of the file that the digest covers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatalogText {
    protocol: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    info: Option<Raw>,
    capabilities: Raw,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// In the order of [`ALL_LISTS`].
    lists: [ListText; ALL_LISTS.len()],
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListText {
    items: Vec<Raw>,
    /// The name and the reason of each item that cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    excluded: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(default)]
    public: bool,
    /// The members beside the items; without a value, one that is too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_members: Vec<(String, Option<Raw>)>,
}

// === impl CatalogOrigin ===

impl CatalogOrigin {
    /// The origin of the entry of `server` in `scope` that starts in `folder`.
    pub fn new(server: &str, scope: Scope, folder: &Path) -> Self {
        let fields = serde_json::json!([server, scope, folder.to_string_lossy()]);
        Self(digest(&fields.to_string()))
    }

    /// Reads the origin in the text of a file; `None` if the text is no catalog, or has no origin.
    pub(super) fn from_text(text: &[u8]) -> Option<Self> {
        serde_json::from_slice::<OriginText>(text).ok()?.origin
    }
}

/// Returns the origin in the text of a file, and the names of the tools listed in it; `None` if the text is no catalog.
pub(super) fn listed_tools(text: &[u8]) -> Option<(CatalogOrigin, Vec<String>)> {
    let file: CatalogFile = serde_json::from_slice(text).ok()?;
    if file.form != FORM || digest(file.catalog.as_str()) != file.digest {
        return None;
    }
    let catalog: CatalogText = serde_json::from_str(file.catalog.as_str()).ok()?;
    let lists = ALL_LISTS.into_iter().zip(catalog.lists);
    let tools = lists.filter(|(kind, _)| *kind == ListKind::Tools).flat_map(|(_, list)| list.items);
    let name = |tool: Raw| tool.get_path(&["name"]).ok().flatten()?.to_text();
    Some((file.origin?, tools.filter_map(name).collect()))
}

// === impl CatalogRecord ===

impl CatalogRecord {
    /// Makes the record of lists that were all read, to their end and without a problem; `None` for others.
    pub(crate) fn new(
        lists: &RawLists,
        sign_in_id: Option<String>,
        target: Option<String>,
        origin: Option<CatalogOrigin>,
    ) -> Option<Self> {
        lists.facts.as_ref()?;
        let is_whole = |list: &RawList| {
            let listing = list.listing.as_ref();
            list.problem.is_none()
                && !list.unconfirmed
                && listing.is_some_and(|listing| listing.cut_short.is_none())
        };
        if !ALL_LISTS.into_iter().all(|kind| is_whole(lists.get(kind))) {
            return None;
        }
        Some(Self { lists: lists.clone(), read_at: lists.read_at()?, sign_in_id, target, origin })
    }

    /// Whether the server speaks the modern era.
    pub(super) fn is_modern(&self) -> bool {
        self.lists.facts.as_ref().is_some_and(|facts| facts.era() == Era::Modern)
    }

    /// Returns the digest of the catalog, without its times.
    pub(crate) fn digest(&self) -> Option<String> {
        self.catalog().map(|catalog| digest(&catalog))
    }

    /// Returns the text of the file; `None` if it is too large.
    pub(super) fn to_text(&self, key: ConnectionKey) -> Option<String> {
        let catalog = self.catalog()?;
        let file = CatalogFile {
            form: FORM,
            key: key.to_string(),
            read_at: unix_millis(self.read_at),
            digest: digest(&catalog),
            sign_in: self.sign_in_id.as_deref().map(digest),
            target: self.target.clone(),
            origin: self.origin.clone(),
            catalog: Raw::parse(catalog).ok()?,
        };
        let text = serde_json::to_string(&file).ok()?;
        (text.len() as u64 <= MAX_CATALOG_BYTES).then_some(text)
    }

    /// Reads the text of a file.
    pub(super) fn from_text(text: &[u8], key: ConnectionKey) -> Result<Self, RecordError> {
        let file: CatalogFile = serde_json::from_slice(text)?;
        if file.form != FORM || file.key != key.to_string() {
            return Err(RecordError::Foreign);
        }
        if digest(file.catalog.as_str()) != file.digest {
            return Err(RecordError::Digest);
        }
        let catalog: CatalogText = serde_json::from_str(file.catalog.as_str())?;
        let read_at = UNIX_EPOCH + Duration::from_millis(file.read_at);
        let version: Version = catalog.protocol.parse().map_err(|_| RecordError::Foreign)?;
        let facts = ServerFacts {
            version,
            info: catalog.info,
            capabilities: catalog.capabilities,
            instructions: catalog.instructions,
        };
        let mut lists =
            RawLists { generation: 1, facts: Some(Arc::new(facts)), ..RawLists::default() };
        for (kind, list) in ALL_LISTS.into_iter().zip(catalog.lists) {
            *lists.get_mut(kind) = list.into_raw_list(read_at);
        }
        let CatalogFile { sign_in, target, origin, .. } = file;
        Ok(Self { lists, read_at, sign_in_id: sign_in, target, origin })
    }

    /// Whether the lists were read with this sign-in. A record from a file holds the digest of the sign-in's id.
    pub(super) fn is_of_sign_in(&self, id: Option<&str>) -> bool {
        self.sign_in_id == id.map(digest)
    }

    fn catalog(&self) -> Option<String> {
        let facts = self.lists.facts.as_ref()?;
        let catalog = CatalogText {
            protocol: facts.version.to_string(),
            info: facts.info.clone(),
            capabilities: facts.capabilities.clone(),
            instructions: facts.instructions.clone(),
            lists: ALL_LISTS.map(|kind| ListText::new(self.lists.get(kind))),
        };
        serde_json::to_string(&catalog).ok()
    }
}

// === impl ListText ===

impl ListText {
    fn new(list: &RawList) -> Self {
        let listing = list.listing.clone().unwrap_or_default();
        let pair = |item: &ExcludedItem| (item.name.clone(), item.reason.clone());
        Self {
            items: listing.items.clone(),
            excluded: listing.excluded.iter().map(pair).collect(),
            ttl_ms: listing.ttl.map(millis),
            public: listing.public,
            other_members: listing.other_members.clone(),
        }
    }

    /// Returns the list, which expires as if it had been held in memory since it was read.
    fn into_raw_list(self, read_at: SystemTime) -> RawList {
        let item = |(name, reason)| ExcludedItem { name, reason };
        let ttl = self.ttl_ms.map(Duration::from_millis);
        let age = read_at.elapsed().unwrap_or_default();
        let now = Instant::now();
        let listing = FetchedList {
            items: self.items,
            excluded: self.excluded.into_iter().map(item).collect(),
            ttl,
            public: self.public,
            cut_short: None,
            other_members: self.other_members,
        };
        RawList {
            fresh_until: ttl.and_then(|ttl| now.checked_add(ttl.saturating_sub(age))),
            fetched_at: now.checked_sub(age),
            listing: Some(Arc::new(listing)),
            unconfirmed: true,
            ..RawList::default()
        }
    }
}

fn digest(text: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn unix_millis(at: SystemTime) -> u64 {
    millis(at.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::catalog_store::CatalogKey;
    use super::super::key::EntryKey;
    use super::*;

    pub(in crate::connection) fn key(number: u64) -> CatalogKey {
        CatalogKey {
            entry: EntryKey::from_number(number),
            connection: ConnectionKey::from_number(number),
            modern: ConnectionKey::from_number(number),
        }
    }

    pub(in crate::connection) fn record(tools: &[&str]) -> CatalogRecord {
        let item = |name: &&str| Raw::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        let listing =
            FetchedList { items: tools.iter().map(item).collect(), ..FetchedList::default() };
        let facts = ServerFacts {
            version: Version::V2025_06_18,
            info: None,
            capabilities: Raw::empty_object(),
            instructions: Some("Be brief.".into()),
        };
        let mut lists = RawLists { facts: Some(Arc::new(facts)), ..RawLists::default() };
        for kind in ALL_LISTS {
            *lists.get_mut(kind) = RawList::absent();
        }
        lists.tools = RawList::from_listing(listing);
        CatalogRecord::new(&lists, Some("somebody".into()), None, None).unwrap()
    }

    #[test]
    fn a_list_expires_as_if_it_had_stayed_in_memory() {
        let check = |ttl: Option<u64>, age: u64, is_expired: bool| {
            let mut record = record(&["a"]);
            let tools = record.lists.tools.listing.as_deref().unwrap().clone();
            let tools = FetchedList { ttl: ttl.map(Duration::from_secs), ..tools };
            record.lists.tools = RawList::from_listing(tools);
            record.read_at = SystemTime::now() - Duration::from_secs(age);
            let text = record.to_text(key(1).connection).unwrap();
            let back = CatalogRecord::from_text(text.as_bytes(), key(1).connection).unwrap();
            let found = back.lists.expired_lists().next().is_some();
            assert_eq!(found, is_expired, "{ttl:?} after {age} s");
            assert!(back.is_of_sign_in(Some("somebody")) && !back.is_of_sign_in(None));
        };
        check(None, 1_000_000, false);
        check(Some(100), 50, false);
        check(Some(100), 101, true);
        check(Some(0), 0, true);
    }

    #[test]
    fn only_whole_lists_are_kept() {
        let check = |change: &dyn Fn(&mut RawLists)| {
            let mut lists = record(&["a"]).lists;
            change(&mut lists);
            assert!(CatalogRecord::new(&lists, None, None, None).is_none());
        };
        check(&|lists| lists.prompts = RawList::default());
        check(&|lists| lists.tools.unconfirmed = true);
        check(&|lists| lists.facts = None);
    }
}
