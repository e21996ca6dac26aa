//! A conformance case: one scenario of one line of the suite, at one protocol version, against one subject.
//!
//! Used by all of `conformance`. It runs nothing (`run`, `sweep`).

use std::str::FromStr;

use super::sdk::{Route, Sdk};

/// The two published lines of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Stable,
    Alpha,
}

/// The part of Switchboard that the scenarios test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
    /// `switchboard plugin serve`, with a plugin on the SDK.
    Plugin,
    /// Servers on the official SDKs, directly and through the gateway.
    Sdk,
    /// Several `serve` that are one switchboard, behind a balancer that picks one for each request.
    Cluster,
}

/// The program that a scenario runs against.
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
    /// Replicas of the gateway, each with a server of one era behind it.
    Replicas(Behind),
}

/// The only era of the server behind the gateway.
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
    /// Whether the suite must be forced: extensions are on no version's list.
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

    /// The latest version of each era that the line knows.
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
    pub(super) const ALL: [Self; 5] =
        [Self::Client, Self::Server, Self::Plugin, Self::Sdk, Self::Cluster];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Plugin => "plugin",
            Self::Sdk => "sdk",
            Self::Cluster => "cluster",
        }
    }

    /// The file of `tests/conformance` with the side's counts. Those of replicas stand beside those of one gateway, to be
    /// compared.
    pub(super) const fn counts(self) -> &'static str {
        match self {
            Self::Cluster => Self::Server.name(),
            side => side.name(),
        }
    }

    /// The suite's name for the side: all kinds of server are `server`.
    pub(super) const fn in_suite(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server | Self::Plugin | Self::Sdk | Self::Cluster => "server",
        }
    }

    /// All subjects of this side.
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
            Self::Cluster => {
                vec![Subject::Replicas(Behind::Legacy), Subject::Replicas(Behind::Modern)]
            }
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
            Self::Replicas(Behind::Legacy) => "legacy-replicas",
            Self::Replicas(Behind::Modern) => "modern-replicas",
            Self::Plugins => "plugins",
            Self::Sdk(sdk, route) => route.name(sdk),
        }
    }

    /// Whether the subject supports the scenario in a version; `forced` scenarios need an extension.
    pub(super) fn can_be_asked(self, scenario: &str, version: &str, forced: bool) -> bool {
        match self {
            Self::Sdk(sdk, _) => {
                sdk.versions().contains(&version) && (!forced || sdk.has_extension(scenario))
            }
            Self::Client | Self::Gateway(_) | Self::Plugins | Self::Replicas(_) => true,
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
    /// The name of the case's folder, and its name in reports.
    pub(super) fn slug(&self) -> String {
        format!("{}-{}-{}", self.scenario, self.version, self.subject.name())
    }
}
