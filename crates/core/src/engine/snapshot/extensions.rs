//! The report of extensions: what the clients and servers of a workspace declare beyond the protocol, on what they
//! agree, and what does not pass.
//!
//! Made by `snapshot::build`; shown by `switchboard doctor` and the console. It does not negotiate:
//! `session::choose_connection` does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_wire::meta::SKILLS_EXTENSION;

use super::ServerSnapshot;
use crate::connection::{
    ALL_LISTS, CapabilityPath, CapabilityReading, LostCapability, OpaqueCapabilities, RawLists,
};

/// The most kinds of declarations of one session that are reported.
const MAX_READINGS: usize = 8;
/// The most lost wishes of one session, and lost requests of one server, that are reported.
const MAX_LOST_WISHES: usize = 16;
/// The most characters of a method that are shown.
const MAX_METHOD_CHARS: usize = 80;

/// Why a client does not know an extension of a server.
const TOLD_TOO_LATE: &str =
    "the client connected before the server was ready, and has not asked again";

/// Why members of lists beside the items do not pass.
const ONE_LIST: &str =
    "passed on at `/mcp/<server>` only: elsewhere one list is made of the lists of all servers";
/// Why a member of a list does not pass to any client.
const LONG_MEMBER: &str = "its value is too long";

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

/// The opaque capabilities of servers as a client was told them, by server.
pub type DescribedExtensions = BTreeMap<String, OpaqueCapabilities>;

/// The requests of servers that no client got, by server: each with the reason.
#[derive(Debug, Default)]
pub(in crate::engine) struct LostServerRequests(BTreeMap<String, BTreeMap<String, String>>);

/// The declarations of one session, and the servers that do not get them.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct SessionExtensions {
    /// The only server that its clients see; `None`: all.
    only_server: Option<String>,
    /// What its clients were told that servers declare; `None` until one asked.
    described: Option<DescribedExtensions>,
    /// The opaque capabilities of its clients: one reading for each kind.
    readings: Vec<CapabilityReading>,
    /// The servers to which they are not declared, with the reason.
    withheld: BTreeMap<String, String>,
    /// What its clients asked for and servers do not get, with the reason.
    lost: BTreeMap<String, String>,
}

// === impl SessionExtensions ===

impl SessionExtensions {
    /// The extensions of a session whose clients see all servers, or only one.
    pub(in crate::engine) fn new(only_server: Option<String>) -> Self {
        Self { only_server, ..Self::default() }
    }

    /// Notes what a client of the session was told that servers declare. Returns whether the report may change.
    pub(in crate::engine) fn describe(&mut self, servers: DescribedExtensions) -> bool {
        let described = self.described.get_or_insert_default();
        for (server, declared) in servers {
            let known = described.remove(&server).unwrap_or_default();
            described.insert(server, declared.union(&known));
        }
        !self.readings.is_empty()
    }

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

    /// Reports the extensions of the session's clients, if they declare any or something is lost to them. `servers` are
    /// those that no rule hides.
    pub(in crate::engine) fn report(
        &self,
        (client, transport): (&str, &str),
        servers: &[&ServerSnapshot],
    ) -> Option<ClientExtensions> {
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
        let mut negotiated = BTreeMap::new();
        for view in servers.iter().filter(|view| self.shows(&view.name)) {
            let Some(facts) = &view.facts else { continue };
            let theirs = OpaqueCapabilities::of_server(&facts.capabilities).declared;
            let Some(known) = self.known_of(&view.name, &theirs) else {
                lost.extend(told_too_late(&view.name, &theirs));
                continue;
            };
            let both = names_of(declared.shared_with(known));
            if !both.is_empty() && !self.withheld.contains_key(&view.name) {
                negotiated.insert(view.name.clone(), both);
            }
        }
        let has_anything = !self.readings.is_empty() || !lost.is_empty();
        has_anything.then(|| ClientExtensions {
            client: client.to_owned(),
            transport: transport.to_owned(),
            negotiated,
            declared: names(&declared),
            lost,
        })
    }

    fn shows(&self, server: &str) -> bool {
        self.only_server.as_deref().is_none_or(|only| only == server)
    }

    /// What the session's clients know of a server that declares `theirs`; `None` if they were told of its extensions
    /// before the server was ready. A client that never asked may use the extensions all the same.
    fn known_of<'a>(
        &'a self,
        server: &str,
        theirs: &'a OpaqueCapabilities,
    ) -> Option<&'a OpaqueCapabilities> {
        match &self.described {
            Some(described) => described.get(server),
            None => Some(theirs),
        }
    }
}

/// The extensions of a server that a client was not told of. Every client is told of skills.
fn told_too_late(
    server: &str,
    theirs: &OpaqueCapabilities,
) -> impl Iterator<Item = LostCapability> {
    let is_skills = |path: &CapabilityPath| matches!(path, CapabilityPath::Extension(id) if id == SKILLS_EXTENSION);
    let untold = theirs.iter().map(|(path, _)| path).filter(move |path| !is_skills(path));
    untold.map(move |path| LostCapability {
        name: format!("{path} of `{server}`"),
        reason: TOLD_TOO_LATE.to_owned(),
        server: Some(server.to_owned()),
    })
}

// === impl LostServerRequests ===

impl LostServerRequests {
    /// Notes a request that no client got. Returns whether that is new.
    pub(in crate::engine) fn note(&mut self, server: &str, method: &str, reason: &str) -> bool {
        let lost = self.0.entry(server.to_owned()).or_default();
        let name: String = method.chars().take(MAX_METHOD_CHARS).collect();
        lost.len() < MAX_LOST_WISHES && lost.insert(name, reason.to_owned()).is_none()
    }

    fn of_server(&self, server: &str) -> impl Iterator<Item = LostCapability> {
        self.0.get(server).into_iter().flatten().map(|(method, reason)| LostCapability {
            name: format!("request `{method}` to clients"),
            reason: reason.clone(),
            server: None,
        })
    }
}

/// Reports the extensions of servers. `lists` returns the lists of a server, `requests` are those that were lost.
pub(in crate::engine) fn server_extensions<'l>(
    servers: &[ServerSnapshot],
    lists: impl Fn(&str) -> Option<&'l RawLists>,
    requests: &LostServerRequests,
) -> Vec<ServerExtensions> {
    let is_only_server = servers.len() == 1;
    let report = |view: &ServerSnapshot| {
        let reading = OpaqueCapabilities::of_server(&view.facts.as_ref()?.capabilities);
        let mut lost = reading.lost;
        lost.extend(
            lists(&view.name).into_iter().flat_map(|lists| lost_members(lists, is_only_server)),
        );
        lost.extend(requests.of_server(&view.name));
        let is_empty = reading.declared.is_empty() && lost.is_empty();
        (!is_empty).then(|| ServerExtensions {
            server: view.name.clone(),
            declared: names(&reading.declared),
            lost,
        })
    };
    servers.iter().filter_map(report).collect()
}

/// The members of a server's lists, beside the items, that clients do not get: those that see several servers get none.
fn lost_members(lists: &RawLists, is_only_server: bool) -> impl Iterator<Item = LostCapability> {
    ALL_LISTS.into_iter().flat_map(move |list| {
        let listing = lists.get(list).listing.as_ref();
        let members = listing.into_iter().flat_map(|listing| &listing.other_members);
        members.filter_map(move |(name, value)| {
            let reason = match value {
                None => LONG_MEMBER,
                Some(_) if is_only_server => return None,
                Some(_) => ONE_LIST,
            };
            let name = format!("`{name}` of `{}`", list.method());
            Some(LostCapability { name, reason: reason.to_owned(), server: None })
        })
    })
}

fn names(capabilities: &OpaqueCapabilities) -> Vec<String> {
    names_of(capabilities.iter().map(|(path, _)| path))
}

fn names_of<'a>(paths: impl Iterator<Item = &'a CapabilityPath>) -> Vec<String> {
    paths.map(ToString::to_string).collect()
}
