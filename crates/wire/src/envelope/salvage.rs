//! The salvager: finds the id in a message that is too large, too deep or not UTF-8 to be parsed.
//!
//! Used by `link::lines`, `http::sse` and `parse`. The call with that id must fail now, not at its
//! deadline. The salvager is fed the bytes as they are discarded, keeps only a few bytes, and
//! finds the `id` member of the outermost object at any position. It does not check the JSON.

use super::{Id, MalformedKind, MalformedMessage, MalformedShape};
use crate::json::{Raw, decode_string};

/// The longest id that is salvaged, and the longest key that is compared.
const MAX_KEPT_BYTES: usize = 256;

/// Finds the id in bytes that pass.
#[derive(Debug, Default)]
pub struct EnvelopeSalvager {
    depth: usize,
    string: Option<EscapeState>,
    /// The current member, while its value is read; `None` inside a key.
    member: Option<TopLevelMember>,
    key: Vec<u8>,
    value: Vec<u8>,
    ids: Vec<Vec<u8>>,
    named_method: bool,
    named_outcome: bool,
}

/// The salvaged facts about a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SalvagedEnvelope {
    /// The id.
    pub id: Option<Id>,
    /// Whether the message has a `method`.
    pub named_method: bool,
    /// Whether the message has a `result` or an `error`.
    pub named_outcome: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum EscapeState {
    No,
    Yes,
}

/// A member of the outermost object.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TopLevelMember {
    Id,
    Method,
    Outcome,
    Other,
}

// === impl EnvelopeSalvager ===

impl EnvelopeSalvager {
    /// Reads the next bytes of the message.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            bytes = rest;
            match self.string {
                Some(escape) => {
                    self.in_string(byte, escape);
                    bytes = self.hurry(bytes);
                }
                None => self.outside(byte),
            }
        }
    }

    /// Skips to the end of a string that is not kept.
    fn hurry<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let idle = self.string == Some(EscapeState::No) && (self.depth > 1 || self.full());
        if !idle {
            return bytes;
        }
        let next = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
        &bytes[next..]
    }

    fn full(&self) -> bool {
        match self.member {
            None => self.key.len() > MAX_KEPT_BYTES,
            Some(TopLevelMember::Id) => self.value.len() > MAX_KEPT_BYTES,
            Some(_) => true,
        }
    }

    fn in_string(&mut self, byte: u8, escape: EscapeState) {
        self.keep(byte);
        self.string = match (escape, byte) {
            (EscapeState::No, b'\\') => Some(EscapeState::Yes),
            (EscapeState::No, b'"') => None,
            _ => Some(EscapeState::No),
        };
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                if self.depth == 1 && self.member.is_none() {
                    self.key.clear();
                }
                self.keep(byte);
                self.string = Some(EscapeState::No);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && self.member.is_none() => self.member = Some(self.name()),
            b',' if self.depth == 1 => self.end_member(),
            b' ' | b'\t' | b'\r' | b'\n' => self.keep_space(),
            _ => self.keep(byte),
        }
    }

    /// Keeps a byte of an id or key, and one byte beyond the limit, so that an excess can be
    /// detected.
    fn keep(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        let kept = match self.member {
            None => &mut self.key,
            Some(TopLevelMember::Id) => &mut self.value,
            Some(_) => return,
        };
        if kept.len() <= MAX_KEPT_BYTES {
            kept.push(byte);
        }
    }

    /// Keeps the space inside an id: `1 2` is not 12.
    fn keep_space(&mut self) {
        if self.value.last().is_some_and(|last| *last != b' ') {
            self.keep(b' ');
        }
    }

    /// The member that the current key names, with its escapes decoded.
    fn name(&self) -> TopLevelMember {
        let key = std::str::from_utf8(&self.key).ok().and_then(decode_string);
        match key.as_deref() {
            Some("id") => TopLevelMember::Id,
            Some("method") => TopLevelMember::Method,
            Some("result" | "error") => TopLevelMember::Outcome,
            _ => TopLevelMember::Other,
        }
    }

    fn end_member(&mut self) {
        match self.member.take() {
            Some(TopLevelMember::Id) => self.ids.push(std::mem::take(&mut self.value)),
            Some(TopLevelMember::Method) => self.named_method = true,
            Some(TopLevelMember::Outcome) => self.named_outcome = true,
            Some(TopLevelMember::Other) | None => {}
        }
        self.value.clear();
        self.key.clear();
    }

    /// Returns the facts. Two ids count as none.
    pub fn finish(mut self) -> SalvagedEnvelope {
        // A truncated text ends its last member where it stops. Half a number would be the id of
        // another call, so only a closed member counts.
        if self.member != Some(TopLevelMember::Id) {
            self.end_member();
        }
        let id = match self.ids.as_slice() {
            [only] if only.len() <= MAX_KEPT_BYTES => std::str::from_utf8(only)
                .ok()
                .and_then(|text| Raw::parse(text.to_owned()).ok())
                .and_then(Id::from_raw),
            _ => None,
        };
        SalvagedEnvelope { id, named_method: self.named_method, named_outcome: self.named_outcome }
    }
}

// === impl SalvagedEnvelope ===

impl SalvagedEnvelope {
    /// Converts the facts to a malformed message.
    pub fn into_malformed(self, kind: MalformedKind) -> MalformedMessage {
        let looks = match (self.named_method, self.named_outcome) {
            (true, _) => MalformedShape::LikeACall,
            (false, true) => MalformedShape::LikeAnAnswer,
            (false, false) => MalformedShape::Unclear,
        };
        MalformedMessage { kind, id: self.id, looks, too_deep: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn salvage(text: &str) -> (Option<String>, bool, bool) {
        let mut whole = EnvelopeSalvager::default();
        whole.feed(text.as_bytes());
        let mut pieces = EnvelopeSalvager::default();
        text.as_bytes().iter().for_each(|byte| pieces.feed(&[*byte]));
        let (whole, pieces) = (whole.finish(), pieces.finish());
        assert_eq!(whole, pieces, "{text}");
        (whole.id.map(|id| id.to_string()), whole.named_method, whole.named_outcome)
    }

    #[test]
    fn finds_the_id_wherever_it_stands() {
        let own = |id: &str| Some(id.to_owned());
        // Half of a number is another number.
        let long_number = format!(r#"{{"id":{},"result":3}}"#, "1".repeat(MAX_KEPT_BYTES + 1));
        let deep = format!(r#"{{"result":{},"id": 7 }}"#, "[".repeat(3) + &"]".repeat(3));
        for (text, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":5,"result":{"id":6,"x":"\"id\":7"}}"#,
                (own("5"), false, true),
            ),
            (deep.as_str(), (own("7"), false, true)),
            (r#"{"id":"a\"b","method":"x","params":{"method":1"#, (own(r#""a\"b""#), true, false)),
            (r#"{"id":12,"error":{"mess"#, (own("12"), false, true)),
            (r#"{"id":1"#, (None, false, false)),
            (r#"{"id":1,"id":2}"#, (None, false, false)),
            (r#"{"\u0069d":1,"m\u0065thod":2}"#, (own("1"), true, false)),
            (r#"{"id":1,"\u0069d":2,"result":3}"#, (None, false, true)),
            (r#"{"id": 1 ,"result":3}"#, (own("1"), false, true)),
            (r#"{"id":1 2,"result":3}"#, (None, false, true)),
            (r#"{"id":1:2,"result":3}"#, (None, false, true)),
            (r#"{"id":"a" "b","result":3}"#, (None, false, true)),
            (long_number.as_str(), (None, false, true)),
            (r#"{"id":null,"method":"x"}"#, (None, true, false)),
            (r#"{"x":"id","y":"id","result":1}"#, (None, false, true)),
            ("[{\"id\":1}]", (None, false, false)),
            ("garbage", (None, false, false)),
        ] {
            assert_eq!(salvage(text), expected, "{text}");
        }
    }
}
