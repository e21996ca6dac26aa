//! The outline of an object: the positions of its members, recorded while the text is checked.
//!
//! Used by `Raw` and `splice` for the `params` and `result` of received messages. Several layers look up members of a
//! request or a result, and each lookup would walk over the text, at times a megabyte. The outline covers the
//! outermost level only.

use super::{
    JsonMemberError, JsonSyntaxError, Scanner,
    level_cursor::{LevelCursor, MemberSpan},
};

/// From this size on, a text without an outline is searched for the key's letters before it is walked.
pub(crate) const LARGE_TEXT_BYTES: usize = 4096;
/// An object with more members gets no outline: it is data, in which single members are not looked up.
const MAX_OUTLINED_MEMBERS: usize = 16;
/// The initial capacity; most objects have no more members.
const USUAL_MEMBERS: usize = 4;

/// The members of one object, in the order written.
#[derive(Debug)]
pub(crate) struct MemberOutline(Vec<MemberSpan>);

// === impl MemberOutline ===

impl MemberOutline {
    /// Steps over the next value, `depth` levels down. Returns `None` if it is no object, or has too many members.
    pub(crate) fn read(
        scanner: &mut Scanner<'_>,
        depth: usize,
    ) -> Result<Option<Self>, JsonSyntaxError> {
        if scanner.peek() != Some(b'{') {
            scanner.value(depth)?;
            return Ok(None);
        }
        let base = scanner.at();
        let (mut steps, mut count) = (Vec::with_capacity(USUAL_MEMBERS), 0);
        scanner.object(|scanner, key| {
            let value_start = scanner.at() - base;
            scanner.value(depth + 1)?;
            count += 1;
            if count <= MAX_OUTLINED_MEMBERS {
                let (start, key_end) = (key.span.start - base, key.span.end - base);
                let (end, escaped) = (scanner.at() - base, key.escaped);
                steps.push(MemberSpan { start, key_end, value_start, end, escaped });
            }
            Ok(())
        })?;
        Ok((count <= MAX_OUTLINED_MEMBERS).then_some(Self(steps)))
    }

    /// The value of `key` in `text`, which may occur at most once.
    pub(super) fn find_only<'t>(
        &self,
        text: &'t str,
        key: &str,
    ) -> Result<Option<&'t str>, JsonMemberError> {
        let mut found = self.0.iter().filter(|step| step.is_named(text, key));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(JsonMemberError::Duplicate(key.to_owned())),
            (step, _) => Ok(step.map(|step| &text[step.value()])),
        }
    }
}

/// The members of an object, from its outline or from a walk.
#[derive(Clone)]
pub(super) enum MemberSpans<'a> {
    Known(std::slice::Iter<'a, MemberSpan>),
    Walked(LevelCursor<'a>),
}

// === impl MemberSpans ===

impl<'a> MemberSpans<'a> {
    pub(super) fn of(text: &'a str, outline: Option<&'a MemberOutline>) -> Self {
        match outline {
            Some(outline) => Self::Known(outline.0.iter()),
            None => Self::Walked(LevelCursor::into(text, b'{')),
        }
    }
}

impl Iterator for MemberSpans<'_> {
    type Item = MemberSpan;

    #[inline]
    fn next(&mut self) -> Option<MemberSpan> {
        match self {
            Self::Known(steps) => steps.next().copied(),
            Self::Walked(walk) => walk.member(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_of_few_members_has_one() {
        let object = |count: usize| {
            let members: Vec<_> =
                (0..count).map(|number| format!(r#""{number}":[{{}}]"#)).collect();
            format!("{{{}}}", members.join(","))
        };
        for (text, members) in [
            ("{ }".to_owned(), Some(0)),
            (object(MAX_OUTLINED_MEMBERS), Some(MAX_OUTLINED_MEMBERS)),
            (object(MAX_OUTLINED_MEMBERS + 1), None),
            ("[{}]".to_owned(), None),
            ("null".to_owned(), None),
        ] {
            let mut scanner = Scanner::new(&text);
            let outline = MemberOutline::read(&mut scanner, 1).unwrap();
            assert_eq!(outline.map(|outline| outline.0.len()), members, "{text}");
            assert_eq!(scanner.at(), text.len(), "{text}");
        }
    }
}
