//! From lists as servers send them to items, reusing what did not change.

use std::sync::Arc;

use switchboard_wire::client::Listing;

use super::pool::Parsed;
use crate::catalog::{Lists, prompts, resources, templates, tools};
use crate::connection::{RawList, RawLists};
use crate::schema;

/// Reads what is new in `raw`.
pub(super) fn lists(server: &str, raw: Arc<RawLists>, before: &Parsed) -> Parsed {
    let old = before.raw.as_deref();
    let mut lists = Lists::clone(&before.lists);
    if let Some(listing) = news(&raw.tools, old.map(|old| &old.tools)) {
        lists = lists.with_tools(tools(server, listing, &schema::check));
    }
    if let Some(listing) = news(&raw.prompts, old.map(|old| &old.prompts)) {
        lists = lists.with_prompts(prompts(server, listing));
    }
    if let Some(listing) = news(&raw.resources, old.map(|old| &old.resources)) {
        lists = lists.with_resources(resources(server, listing));
    }
    if let Some(listing) = news(&raw.templates, old.map(|old| &old.templates)) {
        lists = lists.with_templates(templates(server, listing));
    }
    let instructions = raw.facts.as_ref().and_then(|facts| facts.instructions.as_deref());
    lists = lists.with_instructions(instructions);
    Parsed { lists: Arc::new(lists), generation: raw.generation, raw: Some(raw) }
}

/// The listing, if it is not the one that was read before.
fn news<'a>(now: &'a RawList, before: Option<&RawList>) -> Option<&'a Listing> {
    let listing = now.listing.as_ref()?;
    let known = before.and_then(|before| before.listing.as_ref());
    (!known.is_some_and(|known| Arc::ptr_eq(known, listing))).then_some(listing)
}
