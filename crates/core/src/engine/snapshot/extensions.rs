//! The report of extensions: what the clients and servers of a workspace declare beyond the protocol, on what they
//! agree, and what does not pass.
//!
//! Made by `snapshot::build`; shown by `switchboard doctor` and the console. It does not negotiate:
//! `session::choose_connection` does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ServerSnapshot;
use crate::connection::{
    ALL_LISTS, CapabilityReading, LostCapability, OpaqueCapabilities, RawLists,
};

/// The most kinds of declarations of one session that are reported.
const MAX_READINGS: usize = 8;
/// The most lost wishes of one session that are reported.
const MAX_LOST_WISHES: usize = 16;

/// Why members of lists beside the items do not pass.
const ONE_LIST: &str = "not passed on: Switchboard makes one list of the lists of all servers";

/// The extensions of the clients and servers of a workspace. Peers that declare none are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtensionReport {
    /// The servers.
    pub servers: Vec<ServerExtensions>,
    /// The attached clients, oldest first.
    pub clients: Vec<ClientExtensions>,
}

/// The extensions of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerExtensions {
    /// The server's name.
    pub server: String,
    /// The server's declaration, for people: `extensions.<id>`.
    pub declared: Vec<String>,
    /// The declared capabilities that clients do not get.
    pub lost: Vec<LostCapability>,
}

/// The extensions of one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientExtensions {
    /// The client's name, as it gives it.
    pub client: String,
    /// How the client is reached, for people.
    pub transport: String,
    /// The client's declaration.
    pub declared: Vec<String>,
    /// What both the client and a server declare, by server.
    pub negotiated: BTreeMap<String, Vec<String>>,
    /// The declared capabilities that servers do not get, with the reason.
    pub lost: Vec<LostCapability>,
}

/// The declarations of one session, and the servers that do not get them.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct SessionExtensions {
    /// The opaque capabilities of its clients: one reading for each kind.
    readings: Vec<CapabilityReading>,
    /// The servers to which they are not declared, with the reason.
    withheld: BTreeMap<String, String>,
    /// What its clients asked for and servers do not get, with the reason.
    lost: BTreeMap<String, String>,
}

// === impl SessionExtensions ===

impl SessionExtensions {
    /// Adds the declaration of a client of the session.
    pub(in crate::engine) fn add(&mut self, reading: &CapabilityReading) {
        let is_empty = reading.declared.is_empty() && reading.lost.is_empty();
        if !is_empty && self.readings.len() < MAX_READINGS && !self.readings.contains(reading) {
            self.readings.push(reading.clone());
        }
    }

    /// Notes the declared capabilities that a server does not get.
    pub(in crate::engine) fn withhold(&mut self, server: &str, reason: &str) {
        self.withheld.insert(server.to_owned(), reason.to_owned());
    }

    /// Notes that servers do not get something that a client asked for. Returns whether that is new.
    pub(in crate::engine) fn lose(&mut self, name: &str, reason: &str) -> bool {
        let has_room = self.lost.len() < MAX_LOST_WISHES;
        has_room && self.lost.insert(name.to_owned(), reason.to_owned()).is_none()
    }

    /// Reports the extensions of the session's clients, if they declare any or asked for something that is lost.
    pub(in crate::engine) fn report(
        &self,
        (client, transport): (&str, &str),
        servers: &[ServerSnapshot],
    ) -> Option<ClientExtensions> {
        if self.readings.is_empty() && self.lost.is_empty() {
            return None;
        }
        let mut declared = OpaqueCapabilities::default();
        let mut lost = Vec::new();
        for reading in &self.readings {
            declared = declared.union(&reading.declared);
            lost.extend(reading.lost.iter().cloned());
        }
        let withheld = self.withheld.iter().map(|(server, reason)| LostCapability {
            name: format!("all of it, for `{server}`"),
            reason: reason.clone(),
            server: Some(server.clone()),
        });
        lost.extend(withheld);
        let wishes = self.lost.iter();
        lost.extend(wishes.map(|(name, reason)| LostCapability {
            name: name.clone(),
            reason: reason.clone(),
            server: None,
        }));
        let shared = |view: &ServerSnapshot| {
            let theirs = OpaqueCapabilities::of_server(&view.facts.as_ref()?.capabilities).declared;
            let names: Vec<String> =
                declared.shared_with(&theirs).map(ToString::to_string).collect();
            let passes = !self.withheld.contains_key(&view.name) && !names.is_empty();
            passes.then(|| (view.name.clone(), names))
        };
        Some(ClientExtensions {
            client: client.to_owned(),
            transport: transport.to_owned(),
            negotiated: servers.iter().filter_map(shared).collect(),
            declared: names(&declared),
            lost,
        })
    }
}

/// Reports the extensions of servers. `lists` returns the lists of a server.
pub(super) fn server_extensions<'l>(
    servers: &[ServerSnapshot],
    lists: impl Fn(&str) -> Option<&'l RawLists>,
) -> Vec<ServerExtensions> {
    let report = |view: &ServerSnapshot| {
        let reading = OpaqueCapabilities::of_server(&view.facts.as_ref()?.capabilities);
        let mut lost = reading.lost;
        lost.extend(lists(&view.name).into_iter().flat_map(lost_members));
        let is_empty = reading.declared.is_empty() && lost.is_empty();
        (!is_empty).then(|| ServerExtensions {
            server: view.name.clone(),
            declared: names(&reading.declared),
            lost,
        })
    };
    servers.iter().filter_map(report).collect()
}

/// The members of a server's lists, beside the items, that no client gets.
fn lost_members(lists: &RawLists) -> impl Iterator<Item = LostCapability> {
    ALL_LISTS.into_iter().flat_map(|list| {
        let listing = lists.get(list).listing.as_ref();
        let names = listing.into_iter().flat_map(|listing| &listing.unknown_members);
        names.map(move |name| LostCapability {
            name: format!("`{name}` of `{}`", list.method()),
            reason: ONE_LIST.to_owned(),
            server: None,
        })
    })
}

fn names(capabilities: &OpaqueCapabilities) -> Vec<String> {
    capabilities.iter().map(|(path, _)| path.to_string()).collect()
}
