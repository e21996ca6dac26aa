//! The instructions of servers as a section of a system prompt, and their changes.
//!
//! Used by agent loops (`agent_loop`) and by the gateway's view. The text of a server stands under its own heading
//! and cannot open another server's section: its headings are moved to lower levels.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use switchboard_wire::sanitize;

const SECTION_TITLE: &str = "# MCP server instructions";

/// The instructions that a model has read: a digest of each server's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstructionDigests(BTreeMap<String, [u8; 32]>);

/// The difference between the current instructions and those that a model has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionChanges {
    /// The new and changed instructions; `None` where there are none.
    pub section: Option<String>,
    /// Servers that no longer have instructions, in alphabetical order.
    pub gone: Vec<String>,
    /// The digests once the model has read the changes.
    pub digests: InstructionDigests,
}

/// Returns all instructions as one section; `None` where there are none.
pub fn instructions_section(instructions: &[(&str, &str)]) -> Option<String> {
    if instructions.is_empty() {
        return None;
    }
    let mut section = SECTION_TITLE.to_owned();
    for (server, text) in instructions {
        // Writing to a string cannot fail.
        let _ = write!(
            section,
            "\n\n## {}\n\n{}",
            sanitize::sanitize_line(server),
            demote_headings(text)
        );
    }
    section.push('\n');
    Some(section)
}

/// Returns the prompt of an agent with the instructions of servers below it.
pub fn append_to_prompt(prompt: Option<String>, section: Option<String>) -> Option<String> {
    match (prompt, section) {
        (Some(prompt), Some(section)) => Some(format!("{}\n\n{section}", prompt.trim_end())),
        (prompt, section) => prompt.or(section),
    }
}

/// Compares `instructions` with those that a model has read.
pub fn changes_since(
    before: &InstructionDigests,
    instructions: &[(&str, &str)],
) -> InstructionChanges {
    let digests = InstructionDigests::of(instructions);
    let is_new = |(server, _): &&(&str, &str)| digests.0.get(*server) != before.0.get(*server);
    let changed: Vec<_> = instructions.iter().filter(is_new).copied().collect();
    let gone = before.0.keys().filter(|server| !digests.0.contains_key(*server)).cloned().collect();
    InstructionChanges { section: instructions_section(&changed), gone, digests }
}

/// Moves the headings of the first two levels two levels down.
fn demote_headings(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let level = line.trim_start().bytes().take_while(|byte| *byte == b'#').count();
        let lower = if matches!(level, 1 | 2) { "##" } else { "" };
        format!("{lower}{}", if lower.is_empty() { line } else { line.trim_start() })
    });
    lines.collect::<Vec<_>>().join("\n")
}

// === impl InstructionChanges ===

impl InstructionChanges {
    /// Returns the changes as text for a model; `None` where there are none.
    pub fn to_text(&self) -> Option<String> {
        let gone = self.gone.iter().map(|server| {
            format!("The instructions of `{}` hold no longer.\n", sanitize::sanitize_line(server))
        });
        let text: String = self.section.iter().cloned().chain(gone).collect();
        (!text.is_empty()).then_some(text)
    }
}

// === impl InstructionDigests ===

impl InstructionDigests {
    /// Computes the digests of these instructions.
    pub fn of(instructions: &[(&str, &str)]) -> Self {
        let hash =
            |(server, text): &(&str, &str)| ((*server).to_owned(), Sha256::digest(text).into());
        Self(instructions.iter().map(hash).collect())
    }
}
