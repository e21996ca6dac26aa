//! Timestamps as RFC 3339 in UTC, with milliseconds.
//!
//! Used by the logs, the audit log, the gateway's tasks and the plugin crate. It does not parse timestamps.

use std::time::{SystemTime, UNIX_EPOCH};

/// Formats a time as RFC 3339: `2026-07-28T09:05:07.042Z`.
pub fn format_timestamp(at: SystemTime) -> String {
    timestamp_bytes(at).into_iter().map(char::from).collect()
}

/// The bytes of [`format_timestamp`].
fn timestamp_bytes(at: SystemTime) -> [u8; 24] {
    // Only a broken clock is before 1970.
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (second, millis) = (since.as_secs() % 86_400, u64::from(since.subsec_millis()));
    let (year, month, day) = date(since.as_secs() / 86_400);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    for (at, number) in [
        (0, year / 100),
        (2, year),
        (5, month),
        (8, day),
        (11, hour),
        (14, minute),
        (17, second % 60),
        (21, millis),
    ] {
        [text[at], text[at + 1]] = digits(number);
    }
    [_, text[20]] = digits(millis / 100);
    text
}

/// Returns the last two digits of a number.
fn digits(number: u64) -> [u8; 2] {
    let digit = |number: u64| b'0' + u8::try_from(number % 10).unwrap_or_default();
    [digit(number / 10), digit(number)]
}

/// Returns year, month and day of the date that is `days` after 1970-01-01. Years count from March, so that the
/// leap day is the last day of a year.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_PER_400_YEARS: u64 = 146_097; // days in 400 years
    let days = days + 719_468; // since 0000-03-01
    let (era, day) = (days / DAYS_PER_400_YEARS, days % DAYS_PER_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn known_moments() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (1_785_229_507_042, "2026-07-28T09:05:07.042Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(super::format_timestamp(UNIX_EPOCH + Duration::from_millis(millis)), text);
        }
    }
}
