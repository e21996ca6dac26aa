//! What servers say about using them, as a section of a prompt.
//!
//! A server's text stands under its own heading and cannot open another server's: its headings are moved below.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use switchboard_wire::sanitize;

const TITLE: &str = "# MCP server instructions";

/// What was told before: a hash of each server's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told(BTreeMap<String, [u8; 32]>);

/// What has to be told now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// What is new or has changed; absent where nothing is.
    pub section: Option<String>,
    /// Servers whose instructions hold no longer, in alphabetical order.
    pub gone: Vec<String>,
    /// What will then have been told.
    pub told: Told,
}

/// All instructions as one section; nothing where there are none.
pub fn section(instructions: &[(&str, &str)]) -> Option<String> {
    if instructions.is_empty() {
        return None;
    }
    let mut section = TITLE.to_owned();
    for (server, text) in instructions {
        // Writing to a string cannot fail.
        let _ = write!(section, "\n\n## {}\n\n{}", sanitize::line(server), demoted(text));
    }
    section.push('\n');
    Some(section)
}

/// What is different from what was told before.
pub fn delta(instructions: &[(&str, &str)], before: &Told) -> Delta {
    let told = Told::of(instructions);
    let is_new = |(server, _): &&(&str, &str)| told.0.get(*server) != before.0.get(*server);
    let changed: Vec<_> = instructions.iter().filter(is_new).copied().collect();
    let gone = before.0.keys().filter(|server| !told.0.contains_key(*server)).cloned().collect();
    Delta { section: section(&changed), gone, told }
}

/// The text with its headings of the first two levels two levels lower.
fn demoted(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let level = line.trim_start().bytes().take_while(|byte| *byte == b'#').count();
        let lower = if matches!(level, 1 | 2) { "##" } else { "" };
        format!("{lower}{}", if lower.is_empty() { line } else { line.trim_start() })
    });
    lines.collect::<Vec<_>>().join("\n")
}

// === impl Told ===

impl Told {
    fn of(instructions: &[(&str, &str)]) -> Self {
        let hash =
            |(server, text): &(&str, &str)| ((*server).to_owned(), Sha256::digest(text).into());
        Self(instructions.iter().map(hash).collect())
    }
}
