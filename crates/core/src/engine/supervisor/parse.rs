//! Parses the lists of a connection into catalog items, and reuses lists that did not change.
//!
//! Used by `supervisor::listener` after each read. The parsers are in `catalog`.

use std::sync::Arc;

use switchboard_wire::client::FetchedList;

use crate::catalog::{ServerLists, parse_prompts, parse_resources, parse_templates, parse_tools};
use crate::connection::{ALL_LISTS, RawList, RawLists};
use crate::engine::supervisor::pool::ParsedLists;
use crate::schema;

/// Parses the lists in `raw` that changed.
pub(in crate::engine) fn parse_lists(
    server: &str,
    raw: Arc<RawLists>,
    before: &ParsedLists,
) -> ParsedLists {
    let old = before.raw.as_deref();
    let mut lists = ServerLists::clone(&before.lists);
    if let Some(listing) = changed_listing(&raw.tools, old.map(|old| &old.tools)) {
        lists = lists.with_tools(parse_tools(server, listing, &schema::check_schema));
    }
    if let Some(listing) = changed_listing(&raw.prompts, old.map(|old| &old.prompts)) {
        lists = lists.with_prompts(parse_prompts(server, listing));
    }
    if let Some(listing) = changed_listing(&raw.resources, old.map(|old| &old.resources)) {
        lists = lists.with_resources(parse_resources(server, listing));
    }
    if let Some(listing) = changed_listing(&raw.templates, old.map(|old| &old.templates)) {
        lists = lists.with_templates(parse_templates(server, listing));
    }
    for list in ALL_LISTS {
        let before = old.map(|old| old.get(list));
        if let Some(listing) = changed_listing(raw.get(list), before) {
            lists = lists.with_members(list, listing);
        }
    }
    let instructions = raw.facts.as_ref().and_then(|facts| facts.instructions.as_deref());
    lists = lists.with_instructions(instructions);
    ParsedLists { lists: Arc::new(lists), generation: raw.generation, raw: Some(raw) }
}

/// Returns the list, if it is not the one that was parsed before.
fn changed_listing<'a>(now: &'a RawList, before: Option<&RawList>) -> Option<&'a FetchedList> {
    let listing = now.listing.as_ref()?;
    let known = before.and_then(|before| before.listing.as_ref());
    (!known.is_some_and(|known| Arc::ptr_eq(known, listing))).then_some(listing)
}
