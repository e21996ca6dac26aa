//! Changing single members of an object and copying everything else.
//!
//! A forwarded message differs from the one received in a handful of members. Decoding and
//! encoding it again would lose key order, number spelling and whatever the types do not know;
//! so the members to change are found, cut out, and the new text put in their place.

use std::ops::Range;

use super::{Members, quote};

/// One change to an object.
#[derive(Debug, Clone, Copy)]
pub struct Edit<'a> {
    path: &'a [&'a str],
    value: Option<&'a str>,
}

/// Why an object could not be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// The member to change stands twice; which one counts would be a guess.
    #[error("member `{0}` stands more than once")]
    Duplicate(String),
    /// The path leads into something that is not an object.
    #[error("`{0}` is not an object")]
    NotAnObject(String),
}

/// A piece of the old text and what stands there in the new one.
struct Cut {
    range: Range<usize>,
    with: String,
}

/// Cuts to make in one text, gathered before anything is copied.
#[derive(Default)]
pub(crate) struct Cuts(Vec<Cut>);

/// Where in the old text an object stands, and what it is called in errors.
struct Place<'a> {
    text: &'a str,
    offset: usize,
    name: &'a str,
}

// === impl Edit ===

impl<'a> Edit<'a> {
    /// Gives the member at `path` the JSON text `value`, adding it, and the objects that lead
    /// to it, where missing. A `null` on the way counts as missing.
    pub fn set(path: &'a [&'a str], value: &'a str) -> Self {
        Self {
            path,
            value: Some(value),
        }
    }

    /// Takes the member at `path` out, if it is there.
    pub fn remove(path: &'a [&'a str]) -> Self {
        Self { path, value: None }
    }

    fn key(&self) -> &'a str {
        self.path.first().copied().unwrap_or_default()
    }

    fn inner(&self) -> Option<Edit<'a>> {
        (self.path.len() > 1).then(|| Edit {
            path: &self.path[1..],
            value: self.value,
        })
    }
}

/// Returns `object` with `edits` made. Paths must be distinct and none may lead through another.
pub fn splice(object: &str, edits: &[Edit<'_>]) -> Result<String, SpliceError> {
    let mut cuts = Cuts::default();
    cuts.object(object, 0, "the value", edits)?;
    Ok(cuts.apply(object))
}

// === impl Cuts ===

impl Cuts {
    /// Puts `with` in the place of `range`.
    pub(crate) fn replace(&mut self, range: Range<usize>, with: impl Into<String>) {
        self.0.push(Cut {
            range,
            with: with.into(),
        });
    }

    /// Edits the object `text`, which stands at `offset` of the whole and is called `name` in
    /// errors.
    pub(crate) fn object(
        &mut self,
        text: &str,
        offset: usize,
        name: &str,
        edits: &[Edit<'_>],
    ) -> Result<(), SpliceError> {
        collect(&Place { text, offset, name }, edits, &mut self.0)
    }

    /// The new text. Every byte outside the cuts is copied once.
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|cut| cut.range.start);
        let added: usize = self.0.iter().map(|cut| cut.with.len()).sum();
        let mut out = String::with_capacity(text.len() + added);
        let mut copied = 0;
        for cut in self.0 {
            out.push_str(&text[copied..cut.range.start]);
            out.push_str(&cut.with);
            copied = cut.range.end;
        }
        out.push_str(&text[copied..]);
        out
    }
}

fn collect(place: &Place<'_>, edits: &[Edit<'_>], cuts: &mut Vec<Cut>) -> Result<(), SpliceError> {
    if !place.text.starts_with('{') {
        return Err(SpliceError::NotAnObject(place.name.to_owned()));
    }
    let mut done = vec![false; edits.len()];
    let mut layout = Layout::default();
    for member in Members::of(place.text) {
        let key = edits.iter().position(|edit| member.is(edit.key()));
        let Some(key) = key.map(|index| edits[index].key()) else {
            layout.keep(member.span());
            continue;
        };
        let here: Vec<usize> = (0..edits.len())
            .filter(|&i| edits[i].key() == key)
            .collect();
        if here.iter().any(|&i| done[i]) {
            return Err(SpliceError::Duplicate(key.to_owned()));
        }
        here.iter().for_each(|&i| done[i] = true);
        let mine: Vec<Edit<'_>> = here.iter().map(|&i| edits[i]).collect();
        match change(place, &mine, member.value, member.value_span(), cuts)? {
            Fate::Kept => layout.keep(member.span()),
            Fate::Removed => layout.remove(member.span()),
        }
    }
    let missing: Vec<Edit<'_>> = edits
        .iter()
        .zip(&done)
        .filter(|(_, done)| !**done)
        .map(|(edit, _)| *edit)
        .collect();
    layout.finish(place.offset, &written(&missing), cuts);
    Ok(())
}

enum Fate {
    Kept,
    Removed,
}

/// Makes the edits that concern one member that is there.
fn change(
    place: &Place<'_>,
    edits: &[Edit<'_>],
    value: &str,
    span: Range<usize>,
    cuts: &mut Vec<Cut>,
) -> Result<Fate, SpliceError> {
    let offset = place.offset + span.start;
    let inner: Vec<Edit<'_>> = edits.iter().filter_map(Edit::inner).collect();
    if !inner.is_empty() {
        let only_removes = inner.iter().all(|edit| edit.value.is_none());
        if only_removes && !value.starts_with('{') {
            // Nothing stands inside it that could be taken out.
        } else if value == "null" {
            let with = format!("{{{}}}", written(&inner));
            cuts.push(Cut {
                range: offset..offset + value.len(),
                with,
            });
        } else {
            collect(
                &Place {
                    text: value,
                    offset,
                    name: edits[0].key(),
                },
                &inner,
                cuts,
            )?;
        }
        return Ok(Fate::Kept);
    }
    let Some(new) = edits.iter().find_map(|edit| edit.value) else {
        return Ok(Fate::Removed);
    };
    cuts.push(Cut {
        range: offset..offset + value.len(),
        with: new.to_owned(),
    });
    Ok(Fate::Kept)
}

/// The text of members that were not there, without a comma in front.
pub(crate) fn written(edits: &[Edit<'_>]) -> String {
    let mut out = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for edit in edits.iter().filter(|edit| edit.value.is_some()) {
        let key = edit.key();
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&quote(key));
        out.push(':');
        let inner: Vec<Edit<'_>> = edits
            .iter()
            .filter(|other| other.key() == key)
            .filter_map(Edit::inner)
            .collect();
        if inner.is_empty() {
            out.push_str(edit.value.unwrap_or("null"));
        } else {
            out.push('{');
            out.push_str(&written(&inner));
            out.push('}');
        }
    }
    out
}

/// What stays and what goes in one object, so that commas come out right.
#[derive(Default)]
struct Layout {
    /// End of the last member that stays.
    kept_end: Option<usize>,
    /// Removed members whose end is not yet known to meet another member.
    removed: Option<Range<usize>>,
    /// Finished removals that reach up to the member after them.
    gaps: Vec<Range<usize>>,
}

impl Layout {
    fn keep(&mut self, span: Range<usize>) {
        if let Some(gone) = self.removed.take() {
            self.gaps.push(gone.start..span.start);
        }
        self.kept_end = Some(span.end);
    }

    fn remove(&mut self, span: Range<usize>) {
        let start = self.removed.as_ref().map_or(span.start, |gone| gone.start);
        self.removed = Some(start..span.end);
    }

    /// Adds the cuts for removals, and one at the end for what is new.
    fn finish(self, offset: usize, new: &str, cuts: &mut Vec<Cut>) {
        for gap in self.gaps {
            cuts.push(Cut {
                range: offset + gap.start..offset + gap.end,
                with: String::new(),
            });
        }
        if new.is_empty() && self.removed.is_none() {
            return;
        }
        let start = self
            .kept_end
            .or(self.removed.as_ref().map(|gone| gone.start))
            .unwrap_or(1);
        let end = self.removed.map_or(start, |gone| gone.end);
        let comma = if self.kept_end.is_some() && !new.is_empty() {
            ","
        } else {
            ""
        };
        cuts.push(Cut {
            range: offset + start..offset + end,
            with: format!("{comma}{new}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(object: &str, edits: &[Edit<'_>], expected: &str) {
        assert_eq!(splice(object, edits).as_deref(), Ok(expected), "{object}");
    }

    #[test]
    fn sets_removes_and_adds() {
        let set = Edit::set;
        check(r#"{ "a" : 1.0 }"#, &[set(&["a"], "2")], r#"{ "a" : 2 }"#);
        check(
            "{}",
            &[set(&["a"], "1"), set(&["b"], "2")],
            r#"{"a":1,"b":2}"#,
        );
        check("{ }", &[set(&["a"], "1")], r#"{"a":1 }"#);
        check(r#"{"x":0 }"#, &[set(&["a"], "1")], r#"{"x":0,"a":1 }"#);
        check(
            r#"{"na\u006de":"x"}"#,
            &[set(&["name"], "\"y\"")],
            r#"{"na\u006de":"y"}"#,
        );
        let remove = |key| Edit::remove(key);
        check(r#"{"a":1}"#, &[remove(&["a"])], "{}");
        check(r#"{"a":1, "b":2}"#, &[remove(&["a"])], r#"{"b":2}"#);
        check(r#"{"a":1, "b":2}"#, &[remove(&["b"])], r#"{"a":1}"#);
        check(
            r#"{"a":1,"b":2,"c":3}"#,
            &[remove(&["a"]), remove(&["c"])],
            r#"{"b":2}"#,
        );
        check(
            r#"{"a":1,"b":2,"c":3}"#,
            &[remove(&["b"]), remove(&["c"])],
            r#"{"a":1}"#,
        );
        check(
            r#"{"a":1,"b":2}"#,
            &[remove(&["b"]), set(&["c"], "3")],
            r#"{"a":1,"c":3}"#,
        );
        check(
            r#"{"a":1}"#,
            &[remove(&["a"]), set(&["c"], "3")],
            r#"{"c":3}"#,
        );
        check(r#"{"a":1}"#, &[remove(&["z"])], r#"{"a":1}"#);
    }

    #[test]
    fn reaches_into_objects() {
        let meta = Edit::set(&["_meta", "k"], "1");
        check("{}", &[meta], r#"{"_meta":{"k":1}}"#);
        check(r#"{"_meta":null}"#, &[meta], r#"{"_meta":{"k":1}}"#);
        check(
            r#"{"_meta":{ "t":5}}"#,
            &[meta],
            r#"{"_meta":{ "t":5,"k":1}}"#,
        );
        check(
            r#"{"_meta":{"k":0,"t":5},"z":1e400}"#,
            &[
                meta,
                Edit::remove(&["_meta", "t"]),
                Edit::set(&["name"], "\"n\""),
            ],
            r#"{"_meta":{"k":1},"z":1e400,"name":"n"}"#,
        );
    }

    #[test]
    fn refuses_what_would_be_a_guess() {
        let name = Edit::set(&["name"], "1");
        assert_eq!(
            splice(r#"{"name":1,"na\u006de":2}"#, &[name]),
            Err(SpliceError::Duplicate("name".into()))
        );
        assert_eq!(
            splice("[]", &[name]),
            Err(SpliceError::NotAnObject("the value".into()))
        );
        assert_eq!(
            splice(r#"{"_meta":3}"#, &[Edit::set(&["_meta", "k"], "1")]),
            Err(SpliceError::NotAnObject("_meta".into()))
        );
    }
}
