//! Connection keys: which connections can be shared.
//!
//! Used by `engine::supervisor::pool` and `engine::session`, which look connections up by key. A key is a digest,
//! since its parts hold secrets. Settings that change nothing on the wire (shown tools, call timeouts, the server's
//! name) are not part of a key.
//!
//! Keys are made in three steps. The [`EntryKey`] identifies the server and the credential; the [`ServerKey`] adds
//! the era and the declared capabilities; the [`ConnectionKey`] adds the principal and the session, where a
//! connection is not shared. Only the first step reads files.

use std::{collections::BTreeMap, ffi::OsStr, fmt};

use sha2::{Digest, Sha256};
use switchboard_wire::{Era, http::ProxyVariables};

use super::{
    CapabilityClass,
    catalog_store::CatalogKey,
    spec::{ConnectionSharing, ConnectionSpec, ConnectionTarget},
    target::{self, SpecCommand},
};

/// The key of a connection. Specs with equal keys share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionKey([u8; 32]);

/// The key of a server and the capabilities declared to it, equal for all principals and sessions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerKey([u8; 32]);

/// The key of a server, equal for all declared capabilities.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryKey([u8; 32]);

/// Variables that differ between the clients of one person and do not make another server.
const LOGIN_VARIABLES: [&str; 20] = [
    "PATH",
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "XDG_CURRENT_DESKTOP",
    "XDG_SEAT",
    "XDG_VTNR",
    "XDG_MENU_PREFIX",
    "DESKTOP_SESSION",
    // npm sets these for the programs it starts: a client started by `npx` has them, one started from a dock has not.
    "npm_config_cache",
    "npm_config_globalconfig",
    "npm_config_noproxy",
    "npm_config_prefix",
    "npm_config_userconfig",
];

/// Hashes fields so that two different sequences of fields never give equal bytes.
struct Fields(Sha256);

// === impl ConnectionSpec ===

impl ConnectionSpec {
    /// Returns the key of a connection to this spec. May block, as [`ConnectionSpec::entry_key`] may.
    pub fn key(&self) -> ConnectionKey {
        self.key_at(self.entry_key())
    }

    /// Returns the key of a connection to this spec, with a known entry key.
    pub(crate) fn key_at(&self, entry: EntryKey) -> ConnectionKey {
        let mut fields = Fields(Sha256::new());
        fields.add(self.server_key_at(entry).0);
        fields.add_optional(self.principal.as_ref().map(|principal| principal.as_bytes()));
        fields.add_optional(match &self.variant {
            ConnectionSharing::Shared => None,
            ConnectionSharing::Session(session) => Some(session.as_bytes()),
        });
        ConnectionKey(fields.0.finalize().into())
    }

    /// Returns the name of the server's kept catalog, which all sessions of a principal share.
    pub(crate) fn catalog_key_at(&self, entry: EntryKey) -> CatalogKey {
        let shared = Self { variant: ConnectionSharing::Shared, ..self.clone() };
        let connection = shared.key_at(entry);
        let modern = match self.era {
            Some(_) => connection,
            None => Self { class: CapabilityClass::default(), ..shared }.key_at(entry),
        };
        CatalogKey { entry, connection, modern }
    }

    /// Returns the key of the server and the capabilities declared to it, equal for all principals and sessions.
    pub(crate) fn server_key_at(&self, entry: EntryKey) -> ServerKey {
        let mut fields = Fields(Sha256::new());
        fields.add(entry.0);
        fields.add(match self.era {
            None => "any era",
            Some(Era::Legacy) => "legacy",
            Some(Era::Modern) => "modern",
        });
        // A modern server learns the capabilities with each request, but may list other tools for other extensions.
        let class = if self.era == Some(Era::Modern) { 0 } else { self.class.bits() };
        fields.add([class]);
        for (path, settings) in self.class.opaque.iter() {
            path.members().into_iter().for_each(|member| {
                fields.add(member);
            });
            fields.add("settings").add(settings);
        }
        ServerKey(fields.0.finalize().into())
    }

    /// Returns the key of the server. Looks for the command, and reads the entry's `envFile`, as starting the
    /// server would: it may block.
    pub fn entry_key(&self) -> EntryKey {
        let mut fields = Fields(Sha256::new());
        match &self.reach {
            ConnectionTarget::InProcess(server) => fields.add("in process").add(&server.id),
            ConnectionTarget::Entry(entry) => {
                fields.add("entry").add(entry.transport.to_json().to_string());
                self.add_process(&mut fields)
            }
        };
        let root = self.root.as_deref().map(|root| root.as_os_str().as_encoded_bytes());
        fields.add_optional(root);
        fields.add(&self.credential_id);
        EntryKey(fields.0.finalize().into())
    }

    /// Adds the proxies through which a remote server is reached.
    fn add_proxies<'a>(&self, fields: &'a mut Fields) -> &'a mut Fields {
        let ProxyVariables { http, https, all, no_proxy } = self.proxies();
        for proxy in [http, https, all, no_proxy] {
            fields.add_optional(proxy.as_ref().map(String::as_bytes));
        }
        fields.add("no process")
    }

    /// Adds the process of the server. An entry that cannot be started has a key too, which no other entry shares.
    fn add_process<'a>(&self, fields: &'a mut Fields) -> &'a mut Fields {
        let Some(command) = target::command(self) else {
            return self.add_proxies(fields);
        };
        let SpecCommand { command, variables } = match command {
            Ok(command) => command,
            Err(error) => return fields.add("unreadable").add(error.to_string()),
        };
        match command.resolve() {
            Ok(file) => fields.add("file").add(file.as_os_str().as_encoded_bytes()),
            Err(_) => fields.add("no file"),
        };
        let cwd = command.cwd.as_deref().map(|cwd| cwd.as_os_str().as_encoded_bytes());
        fields.add_optional(cwd);
        // Sorted, since the order does not matter; of a duplicate name the last value counts.
        let values: BTreeMap<_, _> = variables.iter().map(|one| (&one.name, &one.value)).collect();
        let is_named = |name: &OsStr| {
            variables.iter().any(|one| one.name == name && one.source.is_named_by_entry())
        };
        for (name, value) in values {
            if is_of_login(name) && !is_named(name) {
                continue;
            }
            fields.add(name.as_encoded_bytes()).add(value.as_encoded_bytes());
        }
        fields
    }
}

/// Whether a variable only tells where a client was started, for example in a dock or a terminal. `PATH` counts
/// through the program that is found in it.
fn is_of_login(name: &OsStr) -> bool {
    let is_one = |name: &str| LOGIN_VARIABLES.contains(&name) || name.starts_with("XDG_SESSION_");
    name.to_str().is_some_and(is_one)
}

// === impl Fields ===

impl Fields {
    fn add(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        let field = field.as_ref();
        self.0.update((field.len() as u64).to_le_bytes());
        self.0.update(field);
        self
    }

    fn add_optional(&mut self, field: Option<&[u8]>) -> &mut Self {
        match field {
            Some(field) => self.add("some").add(field),
            None => self.add("none"),
        }
    }
}

// === impl EntryKey ===

impl EntryKey {
    /// Returns a number that differs between keys.
    pub(super) fn number(&self) -> u64 {
        ConnectionKey(self.0).number()
    }
}

// === impl ConnectionKey ===

impl ConnectionKey {
    /// Returns a number that differs between keys, as a seed.
    pub fn number(&self) -> u64 {
        self.0.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
impl EntryKey {
    pub(super) fn from_number(number: u64) -> Self {
        Self(ConnectionKey::from_number(number).0)
    }
}

#[cfg(test)]
impl ConnectionKey {
    pub(super) fn from_number(number: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Self(bytes)
    }
}

impl fmt::Display for ConnectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&ConnectionKey(self.0), f)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&ConnectionKey(self.0), f)
    }
}

impl fmt::Debug for ConnectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:016x})", self.number())
    }
}
