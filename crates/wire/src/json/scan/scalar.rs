//! Scanner steps for scalars: strings, numbers, `true`, `false` and `null`.
//!
//! Used by `scan`. It does not decode values.
#![allow(clippy::inline_always, reason = "they are steps of the loop over a nested value")]

use super::{JsonSyntaxError, JsonSyntaxErrorKind, Scanner};
use crate::json::find::{long_end, plain_end, short_end};

// === impl Scanner ===

impl Scanner<'_> {
    /// Steps over a scalar.
    #[inline(always)]
    pub(super) fn scalar(&mut self) -> Result<(), JsonSyntaxError> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => Err(self.unexpected()),
        }
    }

    /// Steps over a string that begins with the next quote. Returns `true` if it is short and has no escapes.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<bool, JsonSyntaxError> {
        match short_end(self.text, self.at + 1) {
            Ok(end) if self.text.get(end) == Some(&b'"') => {
                self.at = end + 1;
                Ok(true)
            }
            Ok(far) | Err(far) => {
                self.at = self.long_string(far)?;
                Ok(false)
            }
        }
    }

    /// The end of a string that is plain up to `far`.
    #[inline(never)]
    fn long_string(mut self, far: usize) -> Result<usize, JsonSyntaxError> {
        self.at = long_end(self.text, far);
        loop {
            match self.peek() {
                Some(b'"') => return Ok(self.at + 1),
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.error(JsonSyntaxErrorKind::ControlCharacter)),
                None => return Err(self.error(JsonSyntaxErrorKind::Truncated)),
            }
            self.at = plain_end(self.text, self.at);
        }
    }

    #[inline]
    fn escape(&mut self) -> Result<(), JsonSyntaxError> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => self.unicode_escape(),
            Some(_) => Err(self.error(JsonSyntaxErrorKind::BadEscape)),
            None => Err(self.error(JsonSyntaxErrorKind::Truncated)),
        }
    }

    /// Steps over `\uXXXX`. The decoder checks that surrogates pair up, since text that is only forwarded may hold
    /// whatever the peers agree on.
    fn unicode_escape(&mut self) -> Result<(), JsonSyntaxError> {
        match self.text.get(self.at + 2..self.at + 6) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {
                self.at += 6;
                Ok(())
            }
            Some(_) => Err(self.error(JsonSyntaxErrorKind::BadEscape)),
            None => Err(self.error(JsonSyntaxErrorKind::Truncated)),
        }
    }

    #[inline]
    fn number(&mut self) -> Result<(), JsonSyntaxError> {
        let mut at = self.at;
        while let Some(b'0'..=b'9') = self.text.get(at) {
            at += 1;
        }
        // Most numbers are an id, a count or a size; other forms take the slower path.
        let is_counted = at > self.at && (self.peek() != Some(b'0') || at == self.at + 1);
        if is_counted && !matches!(self.text.get(at), Some(b'.' | b'e' | b'E')) {
            self.at = at;
            return Ok(());
        }
        self.at = self.number_end()?;
        Ok(())
    }

    #[inline(never)]
    fn number_end(mut self) -> Result<usize, JsonSyntaxError> {
        self.eat(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.unexpected()),
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(self.at)
    }

    #[inline]
    fn digits(&mut self) -> Result<(), JsonSyntaxError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.unexpected()) }
    }

    #[inline]
    fn literal(&mut self, word: &[u8]) -> Result<(), JsonSyntaxError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.not_literal(word));
        }
        self.at += word.len();
        Ok(())
    }

    #[cold]
    fn not_literal(mut self, word: &[u8]) -> JsonSyntaxError {
        let pairs = word.iter().zip(&self.text[self.at..]);
        self.at += pairs.take_while(|(a, b)| a == b).count();
        self.unexpected()
    }
}
