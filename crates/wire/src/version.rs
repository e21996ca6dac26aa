//! The five protocol versions and their two eras.
//!
//! Used by every module that treats versions differently. It does not negotiate
//! (`client::handshake`, `server::legacy`).

use std::{fmt, str::FromStr};

/// A published version of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The first version: HTTP+SSE and stdio.
    V2024_11_05,
    /// Streamable HTTP, batches.
    V2025_03_26,
    /// Without batches; with the version header, elicitation and structured results.
    V2025_06_18,
    /// Tasks and URL elicitation; the last version with a handshake.
    V2025_11_25,
    /// Stateless: no handshake and no sessions.
    V2026_07_28,
}

/// Whether a version has sessions and server requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// `initialize`, sessions, server-to-client requests.
    Legacy,
    /// Without sessions: each request carries its own metadata.
    Modern,
}

/// The text is not a known version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a protocol version known here")]
pub struct UnknownVersion(pub String);

// === impl Version ===

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The latest version with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The latest version.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The version's text in messages and headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The era of the version.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    /// Whether HTTP requests after the handshake name the version in a header.
    pub fn has_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        })
    }
}
