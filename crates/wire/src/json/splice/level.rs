//! The edits of one object level, selected from all edits without allocation.
//!
//! Used by `splice`. It does not change text (`splice::TextPatch`).

use super::{super::quote_into, JsonEdit, MemberSpan};

/// The edits with a path through one object.
#[derive(Clone, Copy)]
pub(super) struct EditLevel<'e> {
    pub(super) edits: &'e [JsonEdit<'e>],
    /// The number of keys that lead to the object.
    depth: usize,
    /// The keys that lead to the object.
    prefix: &'e [&'e str],
    /// A bit for each of the first edits that goes through the object.
    first: u64,
    /// A bit for each key length at this level, to reject most members by length.
    lengths: u64,
    /// Whether an edit sets a value at this level.
    sets: bool,
}

/// The edits that have found their member. The first ones are bits, so that the usual few edits need no allocation.
#[derive(Default)]
pub(super) struct MatchedEdits {
    first: u64,
    others: Vec<usize>,
    count: usize,
}

// === impl EditLevel ===

impl<'e> EditLevel<'e> {
    pub(super) fn top(edits: &'e [JsonEdit<'e>]) -> Self {
        Self::at(edits, 0, &[])
    }

    /// The level inside the member that edit `index` names; `None` if its path ends here.
    pub(super) fn inner(&self, index: usize) -> Option<Self> {
        let depth = self.depth + 1;
        let path = self.edits[index].path;
        (path.len() > depth).then(|| Self::at(self.edits, depth, &path[..depth]))
    }

    fn at(edits: &'e [JsonEdit<'e>], depth: usize, prefix: &'e [&'e str]) -> Self {
        let first =
            (0..edits.len().min(MAX_BIT_EDITS)).filter(|&index| leads(&edits[index], prefix));
        let first = first.fold(0, |bits, index| bits | 1 << index);
        let mut level = Self { edits, depth, prefix, first, lengths: 0, sets: false };
        for index in level.indices() {
            level.lengths |= length_bit(level.key(index).len());
            level.sets |= level.sets(index);
        }
        level
    }

    /// The key at this level of edit `index`.
    pub(super) fn key(&self, index: usize) -> &'e str {
        self.edits[index].path.get(self.depth).copied().unwrap_or("")
    }

    /// Whether edit `index` removes the member itself.
    pub(super) fn removes(&self, index: usize) -> bool {
        self.edits[index].value.is_none() && self.edits[index].path.len() <= self.depth + 1
    }

    fn indices(&self) -> impl Iterator<Item = usize> + use<'e> {
        let Self { edits, prefix, first, .. } = *self;
        let others =
            (MAX_BIT_EDITS..edits.len()).filter(move |&index| leads(&edits[index], prefix));
        ones(first).chain(others)
    }

    /// The first edit that names `member` of `text`; it represents all edits of that member.
    #[inline]
    pub(super) fn about(&self, text: &str, member: &MemberSpan) -> Option<usize> {
        // The length of `name` excludes the quotes. A key with escapes may have any length.
        let length = member.key().len().saturating_sub(2);
        if !member.escaped && self.lengths & length_bit(length) == 0 {
            return None;
        }
        self.indices().find(|&index| member.is_named(text, self.key(index)))
    }

    /// Whether no member is left to add: no edit sets a value, or every edit has found its member.
    pub(super) fn is_done(&self, marks: &MatchedEdits) -> bool {
        !self.sets || marks.count == self.edits.len()
    }

    fn first_about(&self, key: &str) -> Option<usize> {
        self.indices().find(|&index| self.key(index) == key)
    }

    /// One edit for each member to add: edits that set a value and found no member.
    pub(super) fn missing(&self, marks: &MatchedEdits) -> impl Iterator<Item = usize> {
        // Most edits only remove a member.
        self.indices().filter(|&index| self.sets(index)).filter(move |&index| {
            let key = self.key(index);
            let setting = |&other: &usize| self.key(other) == key && self.sets(other);
            self.indices().find(setting) == Some(index)
                && self.first_about(key).is_some_and(|first| !marks.has(first))
        })
    }

    fn sets(&self, index: usize) -> bool {
        self.edits[index].value.is_some()
    }

    /// Writes the members to be added, without a comma in front.
    pub(super) fn write(&self, out: &mut String, marks: &MatchedEdits) {
        for (count, index) in self.missing(marks).enumerate() {
            if count > 0 {
                out.push(',');
            }
            quote_into(out, self.key(index));
            out.push(':');
            match self.inner(index) {
                Some(inner) => inner.write_object(out),
                None => out.push_str(self.edits[index].value.unwrap_or("null")),
            }
        }
    }

    /// Writes an object of all values set at this level.
    pub(super) fn write_object(&self, out: &mut String) {
        out.push('{');
        self.write(out, &MatchedEdits::default());
        out.push('}');
    }
}

/// The number of edits that have a bit each.
const MAX_BIT_EDITS: usize = u64::BITS as usize;

/// Whether the path of an edit goes through the object at `prefix`.
fn leads(edit: &JsonEdit<'_>, prefix: &[&str]) -> bool {
    prefix.is_empty() || edit.path.len() > prefix.len() && edit.path.starts_with(prefix)
}

/// The indices of set bits.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(next)
    })
}

/// The bit of a length; distant lengths share a bit.
fn length_bit(length: usize) -> u64 {
    1 << (length % 64)
}

// === impl MatchedEdits ===

impl MatchedEdits {
    /// Marks `index`; `false` if it was marked before.
    pub(super) fn add(&mut self, index: usize) -> bool {
        if self.has(index) {
            return false;
        }
        match 1u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)) {
            Some(bit) => self.first |= bit,
            None => self.others.push(index),
        }
        self.count += 1;
        true
    }

    fn has(&self, index: usize) -> bool {
        match 1u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)) {
            Some(bit) => self.first & bit != 0,
            None => self.others.contains(&index),
        }
    }
}
