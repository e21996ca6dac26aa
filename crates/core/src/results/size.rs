//! The size of a text in characters and lines, and numbers with grouped digits.
//!
//! Used by `results` for limits and notes.

use std::ops::AddAssign;

/// The size of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextSize {
    pub(super) chars: usize,
    pub(super) breaks: usize,
}

// === impl TextSize ===

impl TextSize {
    pub(super) fn of(text: &str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        Self { chars: text.chars().count(), breaks }
    }

    pub(super) fn lines(self) -> usize {
        self.breaks + 1
    }
}

impl AddAssign for TextSize {
    fn add_assign(&mut self, other: Self) {
        self.chars += other.chars;
        self.breaks += other.breaks;
    }
}

/// Formats a number with grouped thousands.
pub(super) fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(group_thousands(number), text);
        }
    }
}
