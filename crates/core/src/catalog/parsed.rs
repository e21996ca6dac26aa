//! A list as it came, turned into items and problems: what is wrong with one item costs no other.

use std::{collections::HashSet, fmt::Display, sync::Arc};

use switchboard_wire::{client::Listing, json::Raw};

use super::{fault::Fault, text};
use crate::problem::{Problem, ProblemKind};

/// The items of one list that can be used, and what is wrong with the others.
#[derive(Debug, Clone)]
pub struct Parsed<T> {
    /// What can be used, in the order sent.
    pub items: Vec<Arc<T>>,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// What lists are made of.
pub(super) trait Item {
    /// What one is called.
    const NOUN: &'static str;
    /// The member that tells items apart.
    const KEY: &'static str;

    /// What stands in that member.
    fn key(&self) -> &str;
}

// === impl Parsed ===

impl<T: Item> Parsed<T> {
    pub(super) fn read(
        server: &str,
        listing: &Listing,
        parse: impl Fn(&Raw) -> Result<T, Fault>,
    ) -> Self {
        let mut parsed = Self { items: Vec::new(), problems: Vec::new() };
        let mut seen = HashSet::new();
        for (index, raw) in listing.items.iter().enumerate() {
            let mut unique = |item: T| {
                let is_new = seen.insert(item.key().to_owned());
                if is_new { Ok(item) } else { Err(Fault::Repeated) }
            };
            match parse(raw).and_then(&mut unique) {
                Ok(item) => parsed.items.push(Arc::new(item)),
                Err(fault) => parsed.leave_out(server, &label::<T>(raw, index), &fault),
            }
        }
        for item in &listing.excluded {
            let fault = Fault::Excluded(item.reason.clone());
            parsed.leave_out(server, &item.name, &fault);
        }
        parsed.problems.extend(listing.cut_short.as_ref().map(|why| {
            let message = format!("not all {}s are shown: {why}", T::NOUN);
            Problem::new(ProblemKind::ListCutShort, message).of_server(server)
        }));
        parsed
    }

    fn leave_out(&mut self, server: &str, item: &str, why: &dyn Display) {
        let message = text::line(&format!("the {} is left out: {why}", T::NOUN));
        let problem = Problem::new(ProblemKind::Quarantined, message).of_server(server);
        self.problems.push(problem.of_item(text::line(item)));
    }
}

impl<T> Default for Parsed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), problems: Vec::new() }
    }
}

/// What to call an item that may have no name.
fn label<T: Item>(raw: &Raw, index: usize) -> String {
    let named = raw.get(T::KEY).ok().flatten().and_then(|name| name.to_text());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("number {}", index + 1))
}
