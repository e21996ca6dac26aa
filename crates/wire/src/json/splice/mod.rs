//! Splicing: changes single members of a JSON object and copies every other byte.
//!
//! Used by `envelope`, `client::request_text`, `server::render` and `core` on forwarded messages,
//! which differ from the received ones in a few members. Decoding and encoding again would lose key
//! order, number spelling and unknown members. It does not format or check the new values.

mod level;

use std::ops::Range;

use bytestring::ByteString;

use super::{
    level_cursor::{LevelCursor, MemberSpan},
    rope::{MIN_SHARED_BYTES, Rope, RopeBuilder},
};
use level::{EditLevel, MatchedEdits};

/// One change to an object.
#[derive(Debug, Clone, Copy)]
pub struct JsonEdit<'a> {
    path: &'a [&'a str],
    value: Option<&'a str>,
}

/// Why an object could not be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// The member to change occurs twice, and it is unclear which one counts.
    #[error("member `{0}` occurs more than once")]
    Duplicate(String),
    /// The path leads into a value that is not an object.
    #[error("`{0}` is not an object")]
    NotAnObject(String),
}

// === impl JsonEdit ===

impl<'a> JsonEdit<'a> {
    /// Sets the member at `path` to the JSON text `value`. Missing members, and missing objects on
    /// the way, are added. A `null` on the way counts as missing.
    pub const fn set(path: &'a [&'a str], value: &'a str) -> Self {
        Self { path, value: Some(value) }
    }

    /// Removes the member at `path`, if it exists.
    pub const fn remove(path: &'a [&'a str]) -> Self {
        Self { path, value: None }
    }

    /// Returns the value after this edit, whatever it looks like.
    pub(super) fn overwrite(&self, value: &str) -> String {
        super::overwrite::overwrite(value, self.path, self.value)
    }

    /// The key of the member that the edit removes, if it is a removal.
    pub(super) fn removes(&self) -> Option<&'a str> {
        self.path.last().copied().filter(|_| self.value.is_none())
    }
}

/// Returns `object` after `edits`. Paths must be distinct, and none may lead through another.
pub fn splice(object: &str, edits: &[JsonEdit<'_>]) -> Result<String, SpliceError> {
    Ok(splice_if_changed(object, edits)?.unwrap_or_else(|| object.to_owned()))
}

/// Returns the object after the edits; `None` if nothing changes.
pub(super) fn splice_if_changed(
    object: &str,
    edits: &[JsonEdit<'_>],
) -> Result<Option<String>, SpliceError> {
    let mut patch = TextPatch::new(object, object.len() + added_bytes(edits));
    patch.object(0..object.len(), "the value", edits)?;
    Ok(patch.finish())
}

/// Returns the object after the edits as a rope, in which large parts are not copied; `None` if
/// nothing changes.
pub(super) fn rope(
    object: &ByteString,
    edits: &[JsonEdit<'_>],
) -> Result<Option<Rope>, SpliceError> {
    let size = if object.len() < MIN_SHARED_BYTES { object.len() + added_bytes(edits) } else { 0 };
    let mut patch = TextPatch { source: Some(object), ..TextPatch::new(object, size) };
    patch.object(0..object.len(), "the value", edits)?;
    Ok(patch.into_builder().map(RopeBuilder::finish))
}

/// An estimate of how many bytes `edits` add.
pub(crate) fn added_bytes(edits: &[JsonEdit<'_>]) -> usize {
    const PUNCTUATION: usize = r#","":{}"#.len();
    let length = |edit: &JsonEdit<'_>| {
        let keys = || edit.path.iter().map(|key| key.len() + PUNCTUATION).sum::<usize>();
        edit.value.map_or(0, |value| value.len() + keys())
    };
    edits.iter().map(length).sum()
}

/// A new text under construction: the old text is copied up to each change, so changes are made
/// from front to back.
pub(crate) struct TextPatch<'t> {
    old: &'t str,
    /// The source to share large parts of the old text from, instead of copying them.
    source: Option<&'t ByteString>,
    /// How much of the old text has been copied or left out.
    copied: usize,
    /// The new text, allocated with the first change.
    new: RopeBuilder,
    size: usize,
}

// === impl TextPatch ===

impl<'t> TextPatch<'t> {
    /// Starts with `old`; the new text will be about `size` bytes long.
    pub(crate) fn new(old: &'t str, size: usize) -> Self {
        Self { old, source: None, copied: 0, new: RopeBuilder::default(), size }
    }

    /// Replaces `range` by `with`.
    pub(crate) fn replace(&mut self, range: Range<usize>, with: &str) {
        self.leave_out(range);
        self.new.write(with);
    }

    /// Copies the text before `range` and skips `range`.
    fn leave_out(&mut self, range: Range<usize>) {
        if self.new.is_empty() {
            self.new.open.reserve_exact(self.size);
        }
        self.keep(self.copied..range.start);
        self.copied = range.end;
    }

    fn keep(&mut self, range: Range<usize>) {
        let part = &self.old[range];
        match self.source {
            Some(source) => self.new.share(source, part),
            None => self.new.write(part),
        }
    }

    /// Edits the object at `range`; `name` names it in errors.
    pub(crate) fn object(
        &mut self,
        range: Range<usize>,
        name: &str,
        edits: &[JsonEdit<'_>],
    ) -> Result<(), SpliceError> {
        self.level(range, name, EditLevel::top(edits))
    }

    /// Inserts `prefix` and an object of the members that `edits` set at `at`, if they set any.
    pub(crate) fn insert_object(&mut self, at: usize, prefix: &str, edits: &[JsonEdit<'_>]) {
        let level = EditLevel::top(edits);
        if level.missing(&MatchedEdits::default()).next().is_some() {
            self.replace(at..at, prefix);
            level.write_object(&mut self.new.open);
        }
    }

    /// The new text; `None` if it equals the old one.
    pub(crate) fn finish(self) -> Option<String> {
        self.into_builder().map(|new| new.open)
    }

    fn into_builder(mut self) -> Option<RopeBuilder> {
        if self.copied == 0 && self.new.is_empty() {
            return None;
        }
        self.keep(self.copied..self.old.len());
        Some(self.new)
    }

    fn level(
        &mut self,
        range: Range<usize>,
        name: &str,
        level: EditLevel<'_>,
    ) -> Result<(), SpliceError> {
        let text = &self.old[range.clone()];
        if !text.starts_with('{') {
            return Err(SpliceError::NotAnObject(name.to_owned()));
        }
        let mut layout = ObjectLayout::within(range.start);
        let mut marks = MatchedEdits::default();
        let mut members = LevelCursor::into(text, b'{');
        while let Some(member) = members.member() {
            let Some(index) = level.about(text, &member) else {
                layout.keep(self, &member);
                continue;
            };
            if !marks.add(index) {
                return Err(SpliceError::Duplicate(level.key(index).to_owned()));
            }
            if level.removes(index) {
                layout.remove(&member);
            } else {
                layout.keep(self, &member);
                self.change(layout.value(&member), &level, index)?;
            }
        }
        layout.finish(self, &level, &marks);
        Ok(())
    }

    /// Changes a member that exists and stays.
    fn change(
        &mut self,
        range: Range<usize>,
        level: &EditLevel<'_>,
        index: usize,
    ) -> Result<(), SpliceError> {
        let Some(inner) = level.inner(index) else {
            self.replace(range, level.edits[index].value.unwrap_or("null"));
            return Ok(());
        };
        let value = &self.old[range.clone()];
        if value.starts_with('{') {
            return self.level(range, level.key(index), inner);
        }
        if inner.missing(&MatchedEdits::default()).next().is_none() {
            return Ok(()); // Nothing stands inside it that could be taken out.
        }
        if value != "null" {
            return Err(SpliceError::NotAnObject(level.key(index).to_owned()));
        }
        self.leave_out(range);
        inner.write_object(&mut self.new.open);
        Ok(())
    }
}

/// Which members of one object stay and which are removed, so that commas come out right.
struct ObjectLayout {
    /// The start of the object in the old text.
    start: usize,
    /// End of the last member that stays.
    kept_end: Option<usize>,
    /// Removed members with a comma that is not decided yet.
    removed: Option<Range<usize>>,
}

// === impl ObjectLayout ===

impl ObjectLayout {
    fn within(start: usize) -> Self {
        Self { start, kept_end: None, removed: None }
    }

    fn shift(&self, span: &Range<usize>) -> Range<usize> {
        self.start + span.start..self.start + span.end
    }

    /// The span of a member's value in the old text.
    fn value(&self, member: &MemberSpan) -> Range<usize> {
        self.shift(&member.value())
    }

    fn keep(&mut self, patch: &mut TextPatch<'_>, member: &MemberSpan) {
        let span = self.shift(&member.span());
        if let Some(gone) = self.removed.take() {
            patch.leave_out(gone.start..span.start);
        }
        self.kept_end = Some(span.end);
    }

    fn remove(&mut self, member: &MemberSpan) {
        let span = self.shift(&member.span());
        let start = self.removed.as_ref().map_or(span.start, |gone| gone.start);
        self.removed = Some(start..span.end);
    }

    /// Removes the pending members at the end, and adds the new ones.
    fn finish(self, patch: &mut TextPatch<'_>, level: &EditLevel<'_>, marks: &MatchedEdits) {
        let adds = !level.is_done(marks) && level.missing(marks).next().is_some();
        if !adds && self.removed.is_none() {
            return;
        }
        let first = self.removed.as_ref().map(|gone| gone.start);
        let start = self.kept_end.or(first).unwrap_or(self.start + 1);
        let end = self.removed.map_or(start, |gone| gone.end);
        patch.leave_out(start..end);
        if !adds {
            return;
        }
        if self.kept_end.is_some() {
            patch.new.write(",");
        }
        level.write(&mut patch.new.open, marks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(object: &str, edits: &[JsonEdit<'_>], expected: &str) {
        assert_eq!(splice(object, edits).as_deref(), Ok(expected), "{object}");
    }

    #[test]
    fn sets_removes_and_adds() {
        let set = JsonEdit::set;
        check(r#"{ "a" : 1.0 }"#, &[set(&["a"], "2")], r#"{ "a" : 2 }"#);
        check("{}", &[set(&["a"], "1"), set(&["b"], "2")], r#"{"a":1,"b":2}"#);
        check("{ }", &[set(&["a"], "1")], r#"{"a":1 }"#);
        check(r#"{"x":0 }"#, &[set(&["a"], "1")], r#"{"x":0,"a":1 }"#);
        check(r#"{"na\u006de":"x"}"#, &[set(&["name"], "\"y\"")], r#"{"na\u006de":"y"}"#);
        let remove = |key| JsonEdit::remove(key);
        check(r#"{"a":1}"#, &[remove(&["a"])], "{}");
        check(r#"{"a":1, "b":2}"#, &[remove(&["a"])], r#"{"b":2}"#);
        check(r#"{"a":1, "b":2}"#, &[remove(&["b"])], r#"{"a":1}"#);
        check(r#"{"a":1,"b":2,"c":3}"#, &[remove(&["a"]), remove(&["c"])], r#"{"b":2}"#);
        check(r#"{"a":1,"b":2,"c":3}"#, &[remove(&["b"]), remove(&["c"])], r#"{"a":1}"#);
        check(r#"{"a":1,"b":2}"#, &[remove(&["b"]), set(&["c"], "3")], r#"{"a":1,"c":3}"#);
        check(r#"{"a":1}"#, &[remove(&["a"]), set(&["c"], "3")], r#"{"c":3}"#);
        check(r#"{"a":1}"#, &[remove(&["z"])], r#"{"a":1}"#);
    }

    #[test]
    fn reaches_into_objects() {
        let meta = JsonEdit::set(&["_meta", "k"], "1");
        check("{}", &[meta], r#"{"_meta":{"k":1}}"#);
        check(r#"{"_meta":null}"#, &[meta], r#"{"_meta":{"k":1}}"#);
        check(r#"{"_meta":{ "t":5}}"#, &[meta], r#"{"_meta":{ "t":5,"k":1}}"#);
        check(
            r#"{"_meta":{"k":0,"t":5},"z":1e400}"#,
            &[meta, JsonEdit::remove(&["_meta", "t"]), JsonEdit::set(&["name"], "\"n\"")],
            r#"{"_meta":{"k":1},"z":1e400,"name":"n"}"#,
        );
    }

    #[test]
    fn refuses_what_would_be_a_guess() {
        let name = JsonEdit::set(&["name"], "1");
        assert_eq!(
            splice(r#"{"name":1,"na\u006de":2}"#, &[name]),
            Err(SpliceError::Duplicate("name".into()))
        );
        assert_eq!(splice("[]", &[name]), Err(SpliceError::NotAnObject("the value".into())));
        assert_eq!(
            splice(r#"{"_meta":3}"#, &[JsonEdit::set(&["_meta", "k"], "1")]),
            Err(SpliceError::NotAnObject("_meta".into()))
        );
    }
}
