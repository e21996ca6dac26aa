//! Parses a list of a server into usable items and problems. A faulty item costs no other item.
//!
//! Used by `catalog::tool`, `prompt` and `resource`, which parse single items.

use std::{collections::HashSet, sync::Arc};

use switchboard_wire::{client::FetchedList, json::Raw};

use super::{
    item_fault::{ItemFault, ItemWarning},
    text,
};
use crate::problem::{EngineProblem, EngineProblemKind};

/// The usable items of one list, and the problems of the others.
#[derive(Debug, Clone)]
pub struct ParsedList<T> {
    /// The usable items, in the order sent.
    pub items: Vec<Arc<T>>,
    /// The problems.
    pub problems: Vec<EngineProblem>,
}

/// An item that lists are made of.
pub(super) trait ListItem {
    /// The noun for an item.
    const NOUN: &'static str;
    /// The member that identifies items.
    const KEY: &'static str;

    /// The value of that member.
    fn key(&self) -> &str;

    /// The faults of an item that is still listed.
    fn imperfections(&self) -> &[ItemWarning] {
        &[]
    }
}

/// Parses each item of a list on its own.
pub(super) fn parse_list<T: ListItem>(
    server: &str,
    listing: &FetchedList,
    parse: impl Fn(&Raw) -> Result<T, ItemFault>,
) -> ParsedList<T> {
    let left_out = |item: &str, fault: &ItemFault| quarantine_problem(server, T::NOUN, item, fault);
    let mut parsed = ParsedList::default();
    let mut seen = HashSet::new();
    for (index, raw) in listing.items.iter().enumerate() {
        match parse(raw) {
            Ok(item) if seen.insert(item.key().to_owned()) => {
                let notes = item.imperfections().iter();
                parsed
                    .problems
                    .extend(notes.map(|why| warning_problem(server, T::NOUN, item.key(), why)));
                parsed.items.push(Arc::new(item));
            }
            Ok(item) => parsed.problems.push(left_out(item.key(), &ItemFault::Repeated)),
            Err(fault) => parsed.problems.push(left_out(&label::<T>(raw, index), &fault)),
        }
    }
    parsed.problems.extend(
        listing.excluded.iter().map(|e| left_out(&e.name, &ItemFault::Excluded(e.reason.clone()))),
    );
    parsed.problems.extend(listing.cut_short.as_ref().map(|why| {
        let message = format!("not all {}s are shown: {why}", T::NOUN);
        EngineProblem::new(EngineProblemKind::ListCutShort, message).of_server(server)
    }));
    parsed
}

fn quarantine_problem(server: &str, noun: &str, item: &str, why: &ItemFault) -> EngineProblem {
    let message = text::line(&format!("the {noun} is left out: {why}"));
    let problem = EngineProblem::new(EngineProblemKind::Quarantined, message).of_server(server);
    problem.of_item(text::line(item))
}

fn warning_problem(server: &str, noun: &str, item: &str, why: &ItemWarning) -> EngineProblem {
    let message = text::line(&format!("the definition of the {noun} has a mistake: {why}"));
    let problem = EngineProblem::new(EngineProblemKind::Imperfect, message).of_server(server);
    problem.of_item(text::line(item))
}

// === impl ParsedList ===

impl<T> Default for ParsedList<T> {
    fn default() -> Self {
        Self { items: Vec::new(), problems: Vec::new() }
    }
}

/// A label for an item that may have no name.
fn label<T: ListItem>(raw: &Raw, index: usize) -> String {
    let named = raw.get(T::KEY).ok().flatten().and_then(|name| name.to_text());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("number {}", index + 1))
}
