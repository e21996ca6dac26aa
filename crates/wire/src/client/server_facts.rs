//! Facts that a server states in the handshake: version, name, capabilities, instructions.
//!
//! Used by `handshake`, which reads them, and by `core` and the commands that show servers. It does
//! not list tools, prompts or resources (`lists`).

use crate::{
    Era, Error, Version,
    json::Raw,
    meta::{self, method},
};

/// The facts that a server stated in the handshake.
#[derive(Debug, Clone)]
pub struct ServerFacts {
    /// The protocol version of the session.
    pub version: Version,
    /// `serverInfo`, unchanged.
    pub info: Option<Raw>,
    /// `capabilities`, unchanged.
    pub capabilities: Raw,
    /// Instructions for the model.
    pub instructions: Option<String>,
}

// === impl ServerFacts ===

impl ServerFacts {
    /// The era of the session.
    pub fn era(&self) -> Era {
        self.version.era()
    }

    /// The server's name for itself.
    pub fn name(&self) -> Option<String> {
        self.info_text("name")
    }

    /// The server's version of itself.
    pub fn server_version(&self) -> Option<String> {
        self.info_text("version")
    }

    fn info_text(&self, key: &str) -> Option<String> {
        self.info.as_ref()?.get(key).ok()??.to_text()
    }

    /// Whether the server declares a capability, by its path: `["tools"]`, `["tools",
    /// "listChanged"]`. A member that is `false` or `null` is not declared.
    pub fn has_capability(&self, path: &[&str]) -> bool {
        matches!(self.capabilities.get_path(path), Ok(Some(value)) if !matches!(value.as_str(), "false" | "null"))
    }

    /// Reads the result of `initialize`.
    pub(crate) fn from_initialize(result: &Raw) -> Result<Self, Error> {
        let invalid = |reason: &str| Error::invalid(method::INITIALIZE, reason);
        let said = text(result, "protocolVersion")
            .ok_or_else(|| invalid("it names no protocol version"))?;
        let version: Version =
            said.parse().map_err(|_| Error::NoCommonVersion { offered: vec![said.clone()] })?;
        if version.era() != Era::Legacy {
            return Err(invalid("it names a version that has no handshake"));
        }
        Ok(Self {
            version,
            info: member(result, "serverInfo"),
            capabilities: member(result, "capabilities").unwrap_or_else(Raw::empty_object),
            instructions: text(result, "instructions"),
        })
    }

    /// Reads the result of `server/discover`. Returns `None` if it is not the answer of a modern
    /// server.
    pub(crate) fn from_discover(result: &Raw) -> Option<DiscoverResult> {
        let versions: Vec<String> = member(result, "supportedVersions")?.decode().ok()?;
        let info = result.get_path(&["_meta", meta::SERVER_INFO]).ok().flatten();
        let facts = Self {
            version: Version::LATEST,
            info: info.or_else(|| member(result, "serverInfo")),
            capabilities: member(result, "capabilities").unwrap_or_else(Raw::empty_object),
            instructions: text(result, "instructions"),
        };
        Some(DiscoverResult { versions, facts })
    }
}

/// The result of `server/discover`.
pub(crate) struct DiscoverResult {
    pub(crate) versions: Vec<String>,
    pub(crate) facts: ServerFacts,
}

/// The latest of the offered versions that belongs to `era`.
pub(crate) fn newest_version(offered: &[String], era: Era) -> Option<Version> {
    offered.iter().filter_map(|text| text.parse::<Version>().ok()).filter(|v| v.era() == era).max()
}

fn member(raw: &Raw, key: &str) -> Option<Raw> {
    raw.get(key).ok().flatten()
}

fn text(raw: &Raw, key: &str) -> Option<String> {
    member(raw, key)?.to_text()
}
