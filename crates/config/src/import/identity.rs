//! The identity of an entry for an import: equal only for entries that give a server equal input.
//!
//! Used by `plan` and `existing`. It is stricter than `ServerSignature`, which finds the servers that a
//! connector catalog repeats: one URL with two tokens is one server there, and two accounts here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::approval::hex;
use crate::entry::{Completeness, Entry, RemoteTransport, Transport, canonical_url, decode_entry};
use crate::expand::{ReferenceLookup, expand_node};
use crate::host_context::HostContext;
use crate::secret::{
    SecretLookupError, SecretProvider, SecretSource, SecretText, collect_secret_names,
};
use crate::source::{ConfigNode, LocatedValue};

/// The identity of an entry: everything that it says, as written, and the folder in which its process starts.
///
/// References to variables stay references. A token in a variable and the same token in the file are two entries,
/// because only one of them works where the variable is not set. `${HOME}` is expanded, which is always set, and
/// so is a secret of the store: its value is there wherever the entry is, so an entry that `setup` moved a token
/// out of is the same as the client's entry that still has the token. Only the hash is kept, because entries hold
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImportIdentity(String);

/// An entry as an import compares it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ComparedEntry {
    entry: Value,
    /// The folder in which its process starts, where it has one.
    folder: Option<PathBuf>,
    /// The secrets that the store has and cannot open now. A placeholder stands for each in the entry, so that two
    /// entries that name one secret are equal.
    unreadable: Vec<UnreadableSecret>,
}

/// A secret that the store has and cannot open now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableSecret {
    /// Its name.
    pub name: String,
    /// Why it cannot be opened.
    pub why: String,
}

/// The variables and secrets for the references of entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdentityContext<'a> {
    pub(crate) host: &'a HostContext,
    /// The secrets of providers, which stay references: their commands are run for servers only.
    pub(crate) providers: &'a BTreeMap<String, LocatedValue<SecretProvider>>,
}

/// The values for one entry.
struct IdentityValues {
    home: String,
    /// The values of secrets, or the placeholders of those that cannot be opened.
    secrets: BTreeMap<String, SecretText>,
    unreadable: Vec<UnreadableSecret>,
}

// === impl ComparedEntry ===

impl ComparedEntry {
    /// The form of `entry` to compare, whose process starts in `folder`; `None` if the entry is not usable.
    pub(crate) fn new(
        entry: &ConfigNode,
        folder: &Path,
        context: &IdentityContext<'_>,
    ) -> Option<Self> {
        let values = context.values(entry);
        let (node, missing) = expand_node(entry, &values);
        let is_complete = missing.is_empty() && values.unreadable.is_empty();
        let completeness = if is_complete { Completeness::Complete } else { Completeness::Partial };
        let mut entry = decode_entry("entry", &node, completeness, &mut Vec::new())?;
        normalize(&mut entry);
        // A relative path means another file in another folder.
        let is_process = matches!(entry.transport, Transport::Stdio(_));
        Some(Self {
            entry: entry.to_json(),
            folder: is_process.then(|| folder.to_owned()),
            unreadable: values.unreadable,
        })
    }

    pub(crate) fn identity(&self) -> ImportIdentity {
        let mut hasher = Sha256::new();
        hasher.update(self.entry.to_string());
        if let Some(folder) = &self.folder {
            hasher.update(folder.as_os_str().as_encoded_bytes());
        }
        ImportIdentity(hex(&hasher.finalize()))
    }

    /// The secret on whose value it depends whether `other` is the same server; `None` if nothing depends on one.
    pub(crate) fn undecided_by(&self, other: &Self) -> Option<&UnreadableSecret> {
        let may_be_equal = self.folder == other.folder && self.may_equal(&self.entry, &other.entry);
        self.unreadable.first().filter(|_| may_be_equal)
    }

    /// Whether values are equal if each unreadable secret has the right value.
    fn may_equal(&self, ours: &Value, theirs: &Value) -> bool {
        match (ours, theirs) {
            (Value::Object(ours), Value::Object(theirs)) => {
                let is_alike = |(name, value)| {
                    theirs.get(name).is_some_and(|theirs| self.may_equal(value, theirs))
                };
                ours.len() == theirs.len() && ours.iter().all(is_alike)
            }
            (Value::Array(ours), Value::Array(theirs)) => {
                let mut pairs = ours.iter().zip(theirs);
                ours.len() == theirs.len()
                    && pairs.all(|(ours, theirs)| self.may_equal(ours, theirs))
            }
            (Value::String(ours), Value::String(theirs)) => self.may_equal_text(ours, theirs),
            _ => ours == theirs,
        }
    }

    /// Compares the text before the first unreadable secret, and the text after the last.
    fn may_equal_text(&self, ours: &str, theirs: &str) -> bool {
        let placeholders = self.unreadable.iter().map(|secret| placeholder(&secret.name));
        let places = placeholders.flat_map(|placeholder| {
            let found = ours.match_indices(&placeholder);
            found.map(|(start, found)| (start, start + found.len())).collect::<Vec<_>>()
        });
        let places: Vec<_> = places.collect();
        let start = places.iter().map(|(start, _)| *start).min();
        let end = places.iter().map(|(_, end)| *end).max();
        let (Some(start), Some(end)) = (start, end) else { return ours == theirs };
        let rest = theirs.strip_prefix(&ours[..start]);
        rest.is_some_and(|rest| rest.ends_with(&ours[end..]))
    }
}

impl fmt::Debug for ComparedEntry {
    // Leaves out the entry, which holds secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComparedEntry").field("folder", &self.folder).finish_non_exhaustive()
    }
}

// === impl IdentityContext ===

impl IdentityContext<'_> {
    fn values(&self, entry: &ConfigNode) -> IdentityValues {
        let mut names = BTreeSet::new();
        collect_secret_names(entry, &mut names);
        let home = self.host.home.to_string_lossy().into_owned();
        let (mut secrets, mut unreadable) = (BTreeMap::new(), Vec::new());
        for name in names.into_iter().filter(|name| !self.providers.contains_key(name)) {
            match self.host.secrets.find_secret(SecretSource::Store(&name)) {
                Ok(value) => {
                    secrets.insert(name, value);
                }
                // A secret that is not set stays a reference.
                Err(SecretLookupError::NotSet) => {}
                Err(SecretLookupError::Failed(why)) => {
                    secrets.insert(name.clone(), SecretText::new(placeholder(&name)));
                    unreadable.push(UnreadableSecret { name, why });
                }
            }
        }
        IdentityValues { home, secrets, unreadable }
    }
}

/// The text that stands for a secret that cannot be opened. Every URL may have it anywhere, in this form.
fn placeholder(name: &str) -> String {
    format!("unreadable-{}", hex(&Sha256::digest(name)))
}

// === impl IdentityValues ===

impl ReferenceLookup for IdentityValues {
    fn variable(&self, name: &str) -> Option<&str> {
        (name == "HOME").then_some(&self.home)
    }

    fn secret(&self, name: &str) -> Option<&str> {
        self.secrets.get(name).map(SecretText::expose)
    }
}

/// Brings equivalent spellings into one form.
fn normalize(entry: &mut Entry) {
    match &mut entry.transport {
        Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
            normalize_remote(remote);
        }
        Transport::Stdio(_) | Transport::SseIde(_) | Transport::WsIde(_) | Transport::Sdk => {}
    }
    entry.tools.deny.sort();
    if let Some(allow) = &mut entry.tools.allow {
        allow.sort();
    }
}

fn normalize_remote(remote: &mut RemoteTransport) {
    remote.url = canonical_url(&remote.url);
    let headers = std::mem::take(&mut remote.headers);
    remote.headers =
        headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
}
