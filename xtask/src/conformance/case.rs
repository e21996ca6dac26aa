//! One run of the suite: one scenario of one line of the suite, at one protocol version, against one subject.

use std::str::FromStr;

use super::sdk::{Route, Sdk};

/// The two published lines of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Stable,
    Alpha,
}

/// Which of our two faces the scenarios look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
    /// `switchboard plugin serve`, with a plugin on the SDK.
    Plugin,
    /// Servers on the official SDKs, asked directly and through the gateway.
    Sdk,
}

/// What a scenario is run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// Our client.
    Client,
    /// The gateway, with a server of one era behind it.
    Gateway(Behind),
    /// Plugins, served alone.
    Plugins,
    /// A server on an official SDK.
    Sdk(Sdk, Route),
}

/// The only era that the server behind the gateway has heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    Legacy,
    Modern,
}

/// One scenario at one protocol version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) scenario: String,
    pub(super) version: String,
    pub(super) subject: Subject,
    /// Extensions are on no version's list: the suite runs them only when forced.
    pub(super) forced: bool,
}

// === impl Line ===

impl Line {
    pub(super) const ALL: [Self; 2] = [Self::Stable, Self::Alpha];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Alpha => "alpha",
        }
    }

    /// The newest version of each era it knows.
    pub(super) const fn eras(self) -> &'static [&'static str] {
        match self {
            Self::Stable => &["2025-11-25"],
            Self::Alpha => &["2025-11-25", "2026-07-28"],
        }
    }

    /// The package in the peers' main npm tree.
    pub(super) const fn package(self) -> &'static str {
        match self {
            Self::Stable => "conformance-stable",
            Self::Alpha => "@modelcontextprotocol/conformance",
        }
    }
}

impl FromStr for Line {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|line| line.name() == text).ok_or(())
    }
}

// === impl Side ===

impl Side {
    pub(super) const ALL: [Self; 4] = [Self::Client, Self::Server, Self::Plugin, Self::Sdk];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Plugin => "plugin",
            Self::Sdk => "sdk",
        }
    }

    /// What the suite calls it: to a client, a server is a server.
    pub(super) const fn in_suite(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server | Self::Plugin | Self::Sdk => "server",
        }
    }

    /// Everything that is tested on this side.
    pub(super) fn subjects(self) -> Vec<Subject> {
        match self {
            Self::Client => vec![Subject::Client],
            Self::Server => {
                vec![Subject::Gateway(Behind::Legacy), Subject::Gateway(Behind::Modern)]
            }
            Self::Plugin => vec![Subject::Plugins],
            Self::Sdk => Sdk::ALL
                .into_iter()
                .flat_map(|sdk| Route::ALL.map(|route| Subject::Sdk(sdk, route)))
                .collect(),
        }
    }
}

impl FromStr for Side {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|side| side.name() == text).ok_or(())
    }
}

// === impl Subject ===

impl Subject {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Gateway(behind) => behind.name(),
            Self::Plugins => "plugins",
            Self::Sdk(sdk, route) => route.name(sdk),
        }
    }

    /// Whether it can be asked that in a version of the protocol; `forced` is what only an extension can answer.
    pub(super) fn can_be_asked(self, scenario: &str, version: &str, forced: bool) -> bool {
        match self {
            Self::Sdk(sdk, _) => {
                sdk.versions().contains(&version) && (!forced || sdk.has_extension(scenario))
            }
            Self::Client | Self::Gateway(_) | Self::Plugins => true,
        }
    }
}

// === impl Behind ===

impl Behind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

// === impl Case ===

impl Case {
    /// The name of its folder, and of it in a report.
    pub(super) fn slug(&self) -> String {
        format!("{}-{}-{}", self.scenario, self.version, self.subject.name())
    }
}
