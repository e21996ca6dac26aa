//! The share of each principal in a pool that all principals use.
//!
//! Used by `connection::call_admission`, `engine::supervisor::pool` and the gateway's bridge. A principal other than the
//! local one holds no more items than are free: half of all if it is alone, so that another always finds some. It does
//! not hold items, and does not end them.

use std::collections::HashMap;

use crate::principal::LOCAL_PRINCIPAL;

/// Where a principal finds room for one more item in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolSpace<'a> {
    /// The pool has room.
    Free,
    /// The principal has used up its share: one of its own items has to go.
    EvictCaller,
    /// The pool is full, and this principal holds the most: one of its items has to go.
    Other(&'a str),
}

/// Whether a principal that holds `own` items has used up its share of a pool where `free` more fit.
pub fn has_used_up_share(principal: &str, own: usize, free: usize) -> bool {
    free == 0 || principal != LOCAL_PRINCIPAL && own >= free
}

/// Finds room for one more item of `principal` in a pool of `limit` items. `holders` names the principal of each item
/// that is there.
pub fn find_room<'a>(
    limit: usize,
    holders: impl IntoIterator<Item = &'a str>,
    principal: &str,
) -> PoolSpace<'a> {
    let mut held: HashMap<&str, usize> = HashMap::new();
    let mut all = 0;
    for holder in holders {
        *held.entry(holder).or_default() += 1;
        all += 1;
    }
    let own = held.get(principal).copied().unwrap_or_default();
    let free = limit.saturating_sub(all);
    if !has_used_up_share(principal, own, free) {
        return PoolSpace::Free;
    }
    let is_helped = own == 0 || principal == LOCAL_PRINCIPAL;
    match held.into_iter().max_by_key(|(_, count)| *count) {
        Some((largest, count)) if is_helped && count > own => PoolSpace::Other(largest),
        _ => PoolSpace::EvictCaller,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_finds_room_whatever_another_holds() {
        let check = |held: &[(&'static str, usize)], principal: &str, expected: PoolSpace<'_>| {
            let holders = held.iter().flat_map(|(who, count)| std::iter::repeat_n(*who, *count));
            assert_eq!(find_room(8, holders, principal), expected, "{held:?} {principal}");
        };
        check(&[], "ada", PoolSpace::Free);
        check(&[("ada", 3)], "ada", PoolSpace::Free);
        check(&[("ada", 4)], "ada", PoolSpace::EvictCaller);
        check(&[("ada", 4)], "bob", PoolSpace::Free);
        check(&[("ada", 4), ("bob", 1)], "bob", PoolSpace::Free);
        check(&[("ada", 4), ("bob", 2)], "bob", PoolSpace::EvictCaller);
        check(&[("local", 7)], "local", PoolSpace::Free);
        check(&[("local", 8)], "local", PoolSpace::EvictCaller);
        check(&[("local", 7), ("ada", 1)], "local", PoolSpace::EvictCaller);
        check(&[("local", 7), ("ada", 1)], "ada", PoolSpace::EvictCaller);
        check(&[("local", 7), ("ada", 1)], "bob", PoolSpace::Other("local"));
        check(&[("local", 3), ("ada", 5)], "local", PoolSpace::Other("ada"));
        check(&[("ada", 4), ("bob", 2), ("eve", 1), ("joe", 1)], "dan", PoolSpace::Other("ada"));
    }
}
