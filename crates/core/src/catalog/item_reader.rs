//! Reading one item of a list, and noting what of it must not be shown as it is.
//!
//! An item is passed on as it was sent. Only words that a person or a model will read are put right in it, and a
//! `null` where the protocol knows no null is taken out: one such member makes strict clients refuse the whole list.

use std::{borrow::Cow, collections::HashSet};

use switchboard_wire::{
    json::{JsonEdit, JsonKind, JsonMembers, Raw, decode_string, quote},
    sanitize,
};

use super::{
    item_fault::{ItemFault, ItemWarning},
    text,
};

/// Where in an item something stands.
pub(super) type MemberPath = &'static [&'static str];

/// One item, being read.
pub(super) struct ItemReader<'a> {
    item: &'a Raw,
    /// What stands there from now on; `None` for nothing.
    changes: Vec<(MemberPath, Option<String>)>,
    /// What is wrong with it, though it can be used.
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

    /// Text that tells items apart; it is never changed.
    pub(super) fn identity(&self, key: &'static str) -> Result<String, ItemFault> {
        let value = self.item.get(key)?.ok_or(ItemFault::Missing(key))?;
        let text = value.to_text().ok_or(ItemFault::NotText(key))?;
        if text.is_empty() { Err(ItemFault::Missing(key)) } else { Ok(text) }
    }

    /// Such text that is an address.
    pub(super) fn address(&self, key: &'static str) -> Result<String, ItemFault> {
        let text = self.identity(key)?;
        if sanitize::sanitize_line(&text) == text { Ok(text) } else { Err(ItemFault::Hidden(key)) }
    }

    /// A word or a few to show.
    pub(super) fn line(&mut self, path: MemberPath) -> Result<Option<String>, ItemFault> {
        self.words(path, text::line)
    }

    /// Some lines to show.
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

    /// A member that is an object.
    pub(super) fn object(&mut self, path: MemberPath) -> Result<Option<Raw>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(None) };
        if value.kind() != JsonKind::Object {
            return Err(ItemFault::MemberNotAnObject(last(path)));
        }
        no_key_twice(&value)?;
        Ok(Some(value))
    }

    /// The elements of a member that is a list.
    pub(super) fn list(&mut self, path: MemberPath) -> Result<Vec<Raw>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(Vec::new()) };
        if value.kind() != JsonKind::Array {
            return Err(ItemFault::NotAList(last(path)));
        }
        Ok(value.elements().collect())
    }

    /// A member of any kind; a `null` counts as none and is taken out.
    pub(super) fn present(&mut self, path: MemberPath) -> Result<Option<Raw>, ItemFault> {
        let value = self.item.get_path(path)?;
        if value.as_ref().is_some_and(|value| value.kind() == JsonKind::Null) {
            self.changes.push((path, None));
            return Ok(None);
        }
        Ok(value)
    }

    /// Reads a member that the item can do without. One that cannot be read is taken out, with a note.
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

    /// A member that is `true` or `false`.
    pub(super) fn flag(&mut self, path: MemberPath) -> Result<Option<bool>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(None) };
        value.decode().map(Some).map_err(|_| ItemFault::NotABoolean(last(path)))
    }

    /// A member for which `is_fit` holds.
    pub(super) fn fit(
        &mut self,
        path: MemberPath,
        is_fit: fn(&Raw) -> bool,
    ) -> Result<Option<Raw>, ItemFault> {
        let Some(value) = self.present(path)? else { return Ok(None) };
        if is_fit(&value) { Ok(Some(value)) } else { Err(ItemFault::NotAsDescribed(last(path))) }
    }

    /// What is wrong with the item, though it can be used.
    pub(super) fn imperfections(&mut self) -> &mut Vec<ItemWarning> {
        &mut self.imperfections
    }

    /// Puts `json` where `path` leads.
    pub(super) fn replace(&mut self, path: MemberPath, json: String) {
        self.changes.push((path, Some(json)));
    }

    /// The item, with what had to change.
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

/// Refuses an object in which a key stands twice, however it is escaped.
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
