//! When two connections are one.
//!
//! A key is a digest, since what it is made of holds secrets. What changes nothing on the wire (which
//! tools are shown, how long a call may take, the server's name) is no part of it.
//!
//! Keys are made in three steps. The [`EntryKey`] says which server it is, and with which credential it is reached; the
//! [`ServerKey`] adds the era that is spoken and the capabilities that are declared; the [`Key`] adds whose the connection
//! is: a principal, a session. Only the first step looks at files.

use std::{collections::BTreeMap, ffi::OsStr, fmt};

use sha2::{Digest, Sha256};
use switchboard_wire::{Era, http::ProxyVariables};

use super::{
    spec::{ConnectionSharing, ConnectionSpec, ConnectionTarget},
    target,
};

/// Names a connection. Specs with equal keys share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionKey([u8; 32]);

/// Names a server and what is declared to it, for all principals and sessions alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerKey([u8; 32]);

/// Names a server, whatever is declared to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryKey([u8; 32]);

/// Variables that differ between the clients of one person and do not make a server another one.
const LOGIN_VARIABLES: [&str; 15] = [
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
];

/// Takes in fields so that no two sequences of them look alike.
struct Fields(Sha256);

// === impl ConnectionSpec ===

impl ConnectionSpec {
    /// The key of a connection to this. May block, as [`ConnectionSpec::entry_key`] may.
    pub fn key(&self) -> ConnectionKey {
        self.key_at(self.entry_key())
    }

    /// The key of a connection to this, where [`ConnectionSpec::entry_key`] is known.
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

    /// Names what it connects to and what is declared there, for all principals and sessions alike.
    pub(crate) fn server_key_at(&self, entry: EntryKey) -> ServerKey {
        let mut fields = Fields(Sha256::new());
        fields.add(entry.0);
        fields.add(match self.era {
            None => "any era",
            Some(Era::Legacy) => "legacy",
            Some(Era::Modern) => "modern",
        });
        // A modern server is told with each request.
        let class = if self.era == Some(Era::Modern) { 0 } else { self.class.bits() };
        fields.add([class]);
        ServerKey(fields.0.finalize().into())
    }

    /// Names what it connects to. Looks for the command, and reads the entry's file of variables, as starting the
    /// server would: it may block.
    pub fn entry_key(&self) -> EntryKey {
        let mut fields = Fields(Sha256::new());
        match &self.reach {
            ConnectionTarget::InProcess(server) => fields.add("in process").add(&server.id),
            ConnectionTarget::Entry(entry) => {
                // Maps with string keys and sorted members: there is nothing in it that could fail.
                let transport = serde_json::to_vec(&entry.transport).unwrap_or_default();
                fields.add("entry").add(transport);
                self.add_process(&mut fields)
            }
        };
        let root = self.root.as_deref().map(|root| root.as_os_str().as_encoded_bytes());
        fields.add_optional(root);
        fields.add(&self.credential_id);
        EntryKey(fields.0.finalize().into())
    }

    /// The proxies that a server elsewhere is reached through.
    fn add_proxies<'a>(&self, fields: &'a mut Fields) -> &'a mut Fields {
        let ProxyVariables { http, https, all, no_proxy } = self.proxies();
        for proxy in [http, https, all, no_proxy] {
            fields.add_optional(proxy.as_ref().map(String::as_bytes));
        }
        fields.add("no process")
    }

    /// What a process of it would be. An entry that cannot be started has a key too, if a lonely one.
    fn add_process<'a>(&self, fields: &'a mut Fields) -> &'a mut Fields {
        let Some(command) = target::command(self) else {
            return self.add_proxies(fields);
        };
        let command = match command {
            Ok(command) => command,
            Err(error) => return fields.add("unreadable").add(error.to_string()),
        };
        match command.resolve() {
            Ok(file) => fields.add("file").add(file.as_os_str().as_encoded_bytes()),
            Err(_) => fields.add("no file"),
        };
        let cwd = command.cwd.as_deref().map(|cwd| cwd.as_os_str().as_encoded_bytes());
        fields.add_optional(cwd);
        // The order does not matter, and where a name comes twice the last one counts.
        let variables: BTreeMap<_, _> = command.env.iter().map(|(n, v)| (n, v)).collect();
        for (name, value) in variables {
            if is_of_login(name) && !target::names_variable(self, &command, name) {
                continue;
            }
            fields.add(name.as_encoded_bytes()).add(value.as_encoded_bytes());
        }
        fields
    }
}

/// Whether a variable says where a client was started, a dock or a terminal, and nothing of the server. `PATH` counts
/// through the program that is found there.
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

// === impl ConnectionKey ===

impl ConnectionKey {
    /// A number that differs from key to key, for what should differ between connections.
    pub fn number(&self) -> u64 {
        self.0.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
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
