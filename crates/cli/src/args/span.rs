//! Parses durations on the command line: `90s`, `15m`, `12h`, `30d`, `2w`.
//!
//! Used by `args::calls` and `args::guarding`.

use std::time::Duration;

/// Parses a duration. A number without a unit is ambiguous, so it is refused.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number with its unit: 90s, 15m, 12h, 30d, 2w".to_owned();
    let (at, unit) = text.char_indices().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..at].parse().map_err(|_| wrong())?;
    match number.checked_mul(seconds) {
        Some(0) | None => Err("the time must be positive and finite".to_owned()),
        Some(seconds) => Ok(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_span() {
        for (text, seconds) in [
            ("90s", Some(90)),
            ("15m", Some(900)),
            ("1h", Some(3600)),
            ("30d", Some(2_592_000)),
            ("2w", Some(1_209_600)),
            ("0d", None),
            ("30", None),
            ("d", None),
            ("-1d", None),
            ("1y", None),
            ("", None),
            ("9999999999999999999w", None),
            ("1é", None),
        ] {
            assert_eq!(span(text).ok().map(|span| span.as_secs()), seconds, "{text}");
        }
    }
}
