//! Where the members of an object stand, found on the pass that checks it.
//!
//! Several layers ask a request what it wants and a result what it says of itself, and each would walk over all of its
//! text to learn it, a megabyte at times. What is known of the outermost level spares them the way; nothing is known of
//! what is further in.

use super::{
    JsonMemberError, JsonSyntaxError, Scanner,
    level_cursor::{LevelCursor, MemberSpan},
};

/// Where nothing is known of it, a text from this size on is searched for letters before it is walked.
pub(crate) const LARGE_TEXT_BYTES: usize = 4096;
/// An object with more members than this is data, of which nobody asks for single ones.
const MAX_OUTLINED_MEMBERS: usize = 16;
/// Most have no more than these.
const USUAL_MEMBERS: usize = 4;

/// The members of one object, in the order written.
#[derive(Debug)]
pub(crate) struct MemberOutline(Vec<MemberSpan>);

// === impl MemberOutline ===

impl MemberOutline {
    /// Steps over the value that is next, `depth` levels down; `None` if it is no object, or one of very many members.
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

    /// The value of `key` in `text`, which may stand there at most once.
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

/// The members of an object: as they are known, or as a walk comes by them.
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
