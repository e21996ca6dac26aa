//! Durations, sizes and times for people, in the units of the console (`units.js`).
//!
//! Used by `ui::view` and `commands`. It does not write the moments in the output of commands, which are in UTC and say so
//! (`show::moment`).

use std::time::Duration;

use chrono::{DateTime, FixedOffset, Local, Offset as _, TimeZone as _, Utc};

use crate::show;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The time zone of shown times: a function from a time to its offset, which changes with summer time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DisplayZone(pub(crate) fn(DateTime<Utc>) -> FixedOffset);

/// A duration in microseconds, with a unit and few digits.
#[expect(clippy::cast_precision_loss, reason = "only the first digits are shown")]
pub(crate) fn micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => format!("{:.1} ms", micros as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} ms", micros as f64 / 1e3),
        1_000_000..60_000_000 => format!("{:.1} s", micros as f64 / 1e6),
        _ => {
            let seconds = micros.saturating_add(500_000) / 1_000_000;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

/// A duration, with a unit and few digits.
pub(crate) fn duration(duration: Duration) -> String {
    micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

/// A duration in milliseconds, with a unit and few digits.
pub(crate) fn millis(millis: u64) -> String {
    micros(millis.saturating_mul(1_000))
}

/// The size of a message.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..KIB => show::count(usize::try_from(bytes).unwrap_or(usize::MAX), "byte"),
        _ => memory(bytes),
    }
}

/// An amount of memory.
#[expect(clippy::cast_precision_loss, reason = "only the first digits are shown")]
pub(crate) fn memory(bytes: u64) -> String {
    match bytes {
        0..MIB => format!("{:.0} KiB", bytes as f64 / KIB as f64),
        _ => format!("{:.1} MiB", bytes as f64 / MIB as f64),
    }
}

// === impl DisplayZone ===

impl Default for DisplayZone {
    /// The zone of the machine, or of `TZ`.
    fn default() -> Self {
        Self(|at| Local.offset_from_utc_datetime(&at.naive_utc()).fix())
    }
}

impl DisplayZone {
    /// The time of day of an RFC 3339 time: `11:05:07`. Another text stays as it is.
    pub(crate) fn clock(self, time: &str) -> String {
        self.format(time, "%H:%M:%S")
    }

    /// The date and time of day of an RFC 3339 time: `2026-07-28 11:05:07`. Another text stays as it is.
    pub(crate) fn moment(self, time: &str) -> String {
        self.format(time, "%Y-%m-%d %H:%M:%S")
    }

    /// The date and time of day of a moment in milliseconds since 1970.
    pub(crate) fn moment_of_millis(self, millis: u64) -> String {
        let at = i64::try_from(millis).ok().and_then(DateTime::from_timestamp_millis);
        at.map(|at| self.moment(&at.to_rfc3339())).unwrap_or_default()
    }

    fn format(self, time: &str, format: &str) -> String {
        match DateTime::parse_from_rfc3339(time) {
            Ok(at) => {
                let at = at.to_utc();
                at.with_timezone(&(self.0)(at)).format(format).to_string()
            }
            Err(_) => time.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_have_the_units_of_the_console() {
        for (value, expected) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_250, "1.2 ms"),
            (1_260, "1.3 ms"),
            (31_499, "31 ms"),
            (31_500, "32 ms"),
            (2_550_000, "2.5 s"),
            (59_940_000, "59.9 s"),
            (75_300_000, "1 min 15 s"),
            (119_600_000, "2 min 0 s"),
        ] {
            assert_eq!(micros(value), expected);
        }
        assert_eq!(millis(12), "12 ms");
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1,023 bytes"),
            (1024, "1 KiB"),
            (14_321, "14 KiB"),
            (MIB, "1.0 MiB"),
            (58_100_000, "55.4 MiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
        assert_eq!(memory(600), "1 KiB");
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let berlin = DisplayZone(|_| FixedOffset::east_opt(7200).unwrap());
        let new_york = DisplayZone(|_| FixedOffset::west_opt(14_400).unwrap());
        let time = "2026-07-28T23:05:07.042Z";
        assert_eq!(berlin.moment(time), "2026-07-29 01:05:07");
        assert_eq!(new_york.clock(time), "19:05:07");
        assert_eq!(berlin.moment_of_millis(1_794_000_050_000), "2026-11-06 23:20:50");
        assert_eq!(berlin.clock("a text"), "a text");
    }
}
