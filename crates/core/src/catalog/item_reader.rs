//! Reads one item of a list, and collects the edits that it needs before it is shown.
//!
//! Used by `catalog::tool`, `prompt`, `resource` and `item_shape`. An item is passed on as the server sent it. The
//! reader sanitizes texts that a person or a model will read, and removes a `null` where the protocol allows none:
//! one `null` makes strict clients refuse the whole list.

use std::{borrow::Cow, collections::HashSet};

use switchboard_wire::{
    json::{JsonEdit, JsonKind, JsonMembers, Raw, decode_string, quote},
    sanitize,
};

use super::{
    item_fault::{ItemFault, ItemWarning},
    text,
};

/// The path of a member in an item.
pub(super) type MemberPath = &'static [&'static str];

/// An item that is being read.
pub(super) struct ItemReader<'a> {
    item: &'a Raw,
    /// The edits: a new value, or `None` to remove the member.
    changes: Vec<(MemberPath, Option<String>)>,
    /// The faults of an item that stays usable.
    imperfections: Vec<ItemWarning>,
}

// === impl ItemReader ===

impl<'a> ItemReader<'a> {
    pub(super) fn of(item: &'a Raw) -> Result<Self, ItemFault> {
        if item.kind() != JsonKind::Object {
            return Err(ItemFault::NotAnObject);
        }
        no_key_twice(item)?;
        Ok(Self { item, changes: Vec::new(), imperfections: Vec::new() })
    }

    /// Reads text that identifies the item; it is never changed.
    pub(super) fn identity(&self, key: &'static str) -> Result<String, ItemFault> {
        let value = self.item.get(key)?.ok_or(ItemFault::Missing(key))?;
        let text = value.to_text().ok_or(ItemFault::NotText(key))?;
        if text.is_empty() { Err(ItemFault::Missing(key)) } else { Ok(text) }
    }

    /// Reads text that is an address.
    pub(super) fn address(&self, key: &'static str) -> Result<String, ItemFault> {
        let text = self.identity(key)?;
        if sanitize::sanitize_line(&text) == text { Ok(text) } else { Err(ItemFault::Hidden(key)) }
    }

    /// Reads one line to show.
    pub(super) fn line(&mut self, path: MemberPath) -> Result<Option<String>, ItemFault> {
        self.words(path, text::line)
    }

    /// Reads several lines to show.
    pub(super) fn block(&mut self, path: MemberPath) -> Result<Option<String>, ItemFault> {
        self.words(path, text::block)
    }

    fn words(
        &mut self,
        path: MemberPath,
        clean: fn(&str) -> String,
    ) -> Result<Option<String>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(None) };
        let sent = value.to_text().ok_or(ItemFault::NotText(last(path)))?;
        let shown = Some(clean(&sent)).filter(|shown| !shown.is_empty());
        if shown.as_deref() != Some(&sent) {
            self.changes.push((path, shown.as_deref().map(quote)));
        }
        Ok(shown)
    }

    /// Reads a member that is an object.
    pub(super) fn object(&mut self, path: MemberPath) -> Result<Option<Raw>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(None) };
        if value.kind() != JsonKind::Object {
            return Err(ItemFault::MemberNotAnObject(last(path)));
        }
        no_key_twice(&value)?;
        Ok(Some(value))
    }

    /// Reads the elements of a member that is a list.
    pub(super) fn list(&mut self, path: MemberPath) -> Result<Vec<Raw>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(Vec::new()) };
        if value.kind() != JsonKind::Array {
            return Err(ItemFault::NotAList(last(path)));
        }
        Ok(value.elements().collect())
    }

    /// Reads a member of any kind; a `null` counts as absent and is removed.
    pub(super) fn present(&mut self, path: MemberPath) -> Result<Option<Raw>, ItemFault> {
        let value = self.item.get_path(path)?;
        if value.as_ref().is_some_and(|value| value.kind() == JsonKind::Null) {
            self.changes.push((path, None));
            return Ok(None);
        }
        Ok(value)
    }

    /// Reads an optional member. A member with a fault is removed, with a warning.
    pub(super) fn optional<T>(
        &mut self,
        path: MemberPath,
        read: impl FnOnce(&mut Self, MemberPath) -> Result<Option<T>, ItemFault>,
    ) -> Option<T> {
        read(self, path).unwrap_or_else(|fault| {
            self.changes.push((path, None));
            self.imperfections.push(ItemWarning::Dropped { member: last(path), fault });
            None
        })
    }

    /// Reads a member that is `true` or `false`.
    pub(super) fn flag(&mut self, path: MemberPath) -> Result<Option<bool>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(None) };
        value.decode().map(Some).map_err(|_| ItemFault::NotABoolean(last(path)))
    }

    /// Reads a member for which `is_fit` holds.
    pub(super) fn fit(
        &mut self,
        path: MemberPath,
        is_fit: fn(&Raw) -> bool,
    ) -> Result<Option<Raw>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(None) };
        if is_fit(&value) { Ok(Some(value)) } else { Err(ItemFault::NotAsDescribed(last(path))) }
    }

    /// Returns the faults of the item, to add more.
    pub(super) fn imperfections(&mut self) -> &mut Vec<ItemWarning> {
        &mut self.imperfections
    }

    /// Replaces the member at `path` by `json`.
    pub(super) fn replace(&mut self, path: MemberPath, json: String) {
        self.changes.push((path, Some(json)));
    }

    /// Returns the item with all edits.
    pub(super) fn finish(self) -> Result<Raw, ItemFault> {
        let edits: Vec<_> = self.changes.iter().map(edit).collect();
        Ok(self.item.with_edits(&edits)?)
    }
}

fn edit((path, value): &(MemberPath, Option<String>)) -> JsonEdit<'_> {
    match value {
        Some(json) => JsonEdit::set(path, json),
        None => JsonEdit::remove(path),
    }
}

fn last(path: MemberPath) -> &'static str {
    path.last().copied().unwrap_or_default()
}

/// Refuses an object in which a key occurs twice, in any escaping.
pub(super) fn no_key_twice(object: &Raw) -> Result<(), ItemFault> {
    let mut seen = HashSet::new();
    for member in JsonMembers::of(object.as_str()) {
        let key = decode_string(member.key).unwrap_or(Cow::Borrowed(member.key));
        if let Some(key) = seen.replace(key) {
            return Err(ItemFault::Duplicate(key.into_owned()));
        }
    }
    Ok(())
}
