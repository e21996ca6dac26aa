//! The JSON scanner: checks the grammar of a text in one pass, without allocation.
//!
//! Used by `envelope::parse`, `Raw::parse` and `outline`. It checks the grammar of RFC 8259 and a limit on nesting;
//! the text is a `str`, so its UTF-8 has been checked before. It does not decode strings (`string`).
#![allow(
    clippy::inline_always,
    reason = "the loop over a nested value keeps its place in a register only so; a third fewer instructions"
)]

mod scalar;

use std::{fmt, ops::Range};

/// How deep arrays and objects may nest. Past it a peer is testing stacks, not sending data.
pub const MAX_JSON_DEPTH: usize = 512;

/// Where and why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {at}")]
pub struct JsonSyntaxError {
    /// The fault.
    pub kind: JsonSyntaxErrorKind,
    /// The offset, in bytes, of the first byte that could not be read.
    pub at: usize,
}

/// Why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonSyntaxErrorKind {
    /// The text ended inside a value.
    Truncated,
    /// A byte that is not allowed there.
    Unexpected,
    /// An unescaped control character inside a string.
    ControlCharacter,
    /// A backslash that begins no valid escape.
    BadEscape,
    /// Nested deeper than [`MAX_JSON_DEPTH`].
    TooDeep,
    /// Text after the end of the value.
    Trailing,
}

impl fmt::Display for JsonSyntaxErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the JSON ends too early"),
            Self::Unexpected => f.write_str("unexpected character in JSON"),
            Self::ControlCharacter => f.write_str("unescaped control character in a JSON string"),
            Self::BadEscape => f.write_str("invalid escape in a JSON string"),
            Self::TooDeep => write!(f, "JSON nested deeper than {MAX_JSON_DEPTH} levels"),
            Self::Trailing => f.write_str("text after the end of the JSON value"),
        }
    }
}

/// A cursor over JSON text. It is cheap to copy; functions that are not inlined take a copy, so that the position can
/// stay in a register.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// A scanned key.
pub(crate) struct ScannedKey {
    /// The span of the key, with quotes.
    pub(crate) span: Range<usize>,
    /// Whether the key must be decoded before it is compared.
    pub(crate) escaped: bool,
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self::starting(text, 0)
    }

    /// A scanner that continues at `at`.
    pub(crate) fn starting(text: &'a str, at: usize) -> Self {
        Self { text: text.as_bytes(), at }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The span of the one value in the text; further text is an error.
    pub(crate) fn only_value(mut self) -> Result<Range<usize>, JsonSyntaxError> {
        self.space();
        let start = self.at;
        self.value(0)?;
        let end = self.at;
        self.finish()?;
        Ok(start..end)
    }

    /// Checks that only white space is left.
    pub(crate) fn finish(mut self) -> Result<(), JsonSyntaxError> {
        self.space();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(self.error(JsonSyntaxErrorKind::Trailing))
        }
    }

    #[inline(always)]
    pub(crate) fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Steps over `byte` if it is next.
    #[inline(always)]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline(always)]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), JsonSyntaxError> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Steps over one value that starts here, `depth` levels down.
    #[inline]
    pub(crate) fn value(&mut self, depth: usize) -> Result<(), JsonSyntaxError> {
        match self.peek() {
            Some(b'{' | b'[') => self.nested(depth),
            _ => self.scalar(),
        }
    }

    /// Steps over an array or object, in a loop without recursion: the levels are bits, so that depth costs no stack.
    fn nested(&mut self, depth: usize) -> Result<(), JsonSyntaxError> {
        let mut levels = Levels::default();
        let mut here = *self;
        loop {
            match here.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if depth + levels.count >= MAX_JSON_DEPTH {
                        return Err(here.error(JsonSyntaxErrorKind::TooDeep));
                    }
                    if here.open(open)? {
                        levels.enter(open == b'{');
                        continue;
                    }
                }
                _ => here.scalar()?,
            }
            loop {
                if levels.count == 0 {
                    *self = here;
                    return Ok(());
                }
                if here.next_or_close(levels.in_object)? {
                    break;
                }
                levels.leave();
            }
        }
    }

    /// Steps into an array or object, up to its first value. Returns `false` if it is empty and closed.
    #[inline(always)]
    fn open(&mut self, open: u8) -> Result<bool, JsonSyntaxError> {
        self.at += 1;
        self.space();
        // `{` and `}`, `[` and `]` are two apart.
        if self.eat(open + 2) {
            return Ok(false);
        }
        if open == b'{' {
            self.skip_key()?;
        }
        Ok(true)
    }

    /// After a value: steps to the next value of the level, or over the closing bracket.
    #[inline(always)]
    fn next_or_close(&mut self, in_object: bool) -> Result<bool, JsonSyntaxError> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space();
                if in_object {
                    self.skip_key()?;
                }
                Ok(true)
            }
            Some(b'}') if in_object => {
                self.at += 1;
                Ok(false)
            }
            Some(b']') if !in_object => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Steps over `"key" :` and the space after.
    #[inline(always)]
    fn skip_key(&mut self) -> Result<(), JsonSyntaxError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        self.string()?;
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(())
    }

    /// Steps over `"key" :` and returns the key.
    #[inline(always)]
    pub(crate) fn key(&mut self) -> Result<ScannedKey, JsonSyntaxError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        let short = self.string()?;
        let span = start..self.at;
        let escaped = !short && self.text[span.clone()].contains(&b'\\');
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(ScannedKey { span, escaped })
    }

    /// Steps over the next object. For each key it calls a function that steps over the value.
    #[inline(always)]
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, ScannedKey) -> Result<(), JsonSyntaxError>,
    ) -> Result<(), JsonSyntaxError> {
        self.expect(b'{')?;
        self.space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            self.space();
            if self.eat(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
            self.space();
        }
    }

    /// The error for the byte at this position, or for the end of the text.
    #[cold]
    fn unexpected(self) -> JsonSyntaxError {
        match self.peek() {
            None => self.error(JsonSyntaxErrorKind::Truncated),
            Some(_) => self.error(JsonSyntaxErrorKind::Unexpected),
        }
    }

    #[cold]
    fn error(self, kind: JsonSyntaxErrorKind) -> JsonSyntaxError {
        JsonSyntaxError { kind, at: self.at }
    }
}

/// Which of the enclosing arrays and objects are objects, one bit each.
#[derive(Default)]
struct Levels {
    bits: [u64; MAX_JSON_DEPTH / 64],
    count: usize,
    /// Whether the innermost level is an object.
    in_object: bool,
}

// === impl Levels ===

impl Levels {
    #[inline]
    fn enter(&mut self, object: bool) {
        let (word, bit) = (self.count / 64 % self.bits.len(), self.count % 64);
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(object) << bit;
        self.count += 1;
        self.in_object = object;
    }

    #[inline]
    fn leave(&mut self) {
        self.count -= 1;
        if let Some(outer) = self.count.checked_sub(1) {
            self.in_object = self.bits[outer / 64 % self.bits.len()] >> (outer % 64) & 1 == 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Result<(), JsonSyntaxErrorKind> {
        Scanner::new(text).only_value().map(|_| ()).map_err(|syntax| syntax.kind)
    }

    #[test]
    fn grammar() {
        use JsonSyntaxErrorKind as K;
        let long = format!("\"{}\u{1}\"", "x".repeat(100));
        for (text, expected) in [
            ("0", Ok(())),
            ("-0.1e+9", Ok(())),
            ("1e400", Ok(())),
            ("123456789012345678901234567890", Ok(())),
            (r#""\u0000\ud800 \/""#, Ok(())),
            (" [ ] ", Ok(())),
            ("{\"\":{},\"a\":[1,\"b\"]}", Ok(())),
            ("", Err(K::Truncated)),
            ("01", Err(K::Trailing)),
            ("1.", Err(K::Truncated)),
            (".5", Err(K::Unexpected)),
            ("+1", Err(K::Unexpected)),
            ("nul", Err(K::Truncated)),
            ("nulx", Err(K::Unexpected)),
            ("NaN", Err(K::Unexpected)),
            ("[1,]", Err(K::Unexpected)),
            ("{\"a\":1,}", Err(K::Unexpected)),
            ("{\"a\" 1}", Err(K::Unexpected)),
            ("{1:2}", Err(K::Unexpected)),
            ("\"a\nb\"", Err(K::ControlCharacter)),
            (long.as_str(), Err(K::ControlCharacter)),
            ("\"\\x\"", Err(K::BadEscape)),
            ("\"\\u12g4\"", Err(K::BadEscape)),
            ("\"\\u12", Err(K::Truncated)),
            ("\"abc", Err(K::Truncated)),
            ("\0", Err(K::Unexpected)),
            ("1 2", Err(K::Trailing)),
            ("{} \0", Err(K::Trailing)),
        ] {
            assert_eq!(scan(text), expected, "{text:?}");
        }
    }

    #[test]
    fn depth_is_limited_not_the_stack() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(scan(&nested(MAX_JSON_DEPTH)), Ok(()));
        assert_eq!(scan(&nested(MAX_JSON_DEPTH + 1)), Err(JsonSyntaxErrorKind::TooDeep));
        assert_eq!(scan(&nested(1_000_000)), Err(JsonSyntaxErrorKind::TooDeep));
    }
}
