//! Entries as people read them: one line, quoted so that nothing in it can be mistaken.

use serde_json::Value;
use switchboard_config::mask;
use switchboard_wire::sanitize;

use crate::printer::{DIM, escaped};

/// How long a line about a server gets.
const SHOWN: usize = 70;
/// What is left of a text on the narrowest terminal.
const SHORTEST: usize = 16;

/// What an entry runs or reaches, on one line; `entry` is masked already.
pub(crate) fn target(entry: &Value) -> String {
    match entry["url"].as_str() {
        Some(url) if entry["command"].is_null() => sanitize::line(url).into_owned(),
        _ => command_line(entry),
    }
}

/// The same, cut where a line of a table ends.
pub(crate) fn short_target(entry: &Value) -> String {
    match target(entry) {
        nothing if nothing.is_empty() => "-".to_owned(),
        target => shortened(&target, SHOWN),
    }
}

/// The kind of an entry, as far as it says.
pub(crate) fn transport(entry: &Value) -> &str {
    match entry["type"].as_str() {
        Some("streamable-http") => "http",
        Some(kind) => kind,
        None if entry["command"].is_string() => "stdio",
        None if entry["url"].is_string() => "http",
        None => "unknown",
    }
}

fn command_line(entry: &Value) -> String {
    let command = entry["command"].as_str();
    let args = entry["args"].as_array().into_iter().flatten();
    let words = command.into_iter().chain(args.filter_map(Value::as_str));
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// A word as a shell would want it; what cannot be seen is written out.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-${}*".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else if sanitize::line(text) == text {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        format!("$'{}'", sanitize::line(&text.escape_debug().to_string()))
    }
}

/// Text cut after so many characters.
pub(crate) fn shortened(text: &str, shown: usize) -> String {
    match text.char_indices().nth(shown) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

/// Text cut where a line of the terminal ends, after `taken` columns of it; anything else is not cut.
pub(crate) fn fitting(text: &str, taken: usize) -> String {
    match width() {
        Some(width) => shortened(text, width.saturating_sub(taken + 1).max(SHORTEST)),
        None => text.to_owned(),
    }
}

/// Text that matters less; nothing where there is none, so that no line ends in what cannot be seen.
pub(crate) fn dimmed(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{DIM}{text}{DIM:#}") }
}

/// How wide the terminal on standard output is, if it is one.
fn width() -> Option<usize> {
    let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(std::io::stdout())?;
    // One that was never told its size has none.
    (width > 0).then_some(usize::from(width))
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, rest) = digits.split_at(first);
    let groups = rest.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let head = (!head.is_empty()).then(|| head.to_owned());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

/// Rows with their columns below one another; the last is as long as it is.
pub(crate) fn columns<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> Vec<String> {
    let rows: Vec<_> = rows.into_iter().collect();
    let width = |text: &String| text.chars().count();
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(widest);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A moment, in seconds since 1970, to the minute: `2026-07-28 09:05Z`.
pub(crate) fn moment(seconds: u64) -> String {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let stamp = switchboard_core::logs::stamp(at);
    format!("{}Z", stamp[..16].replace('T', " "))
}

/// How many there are of something, with its plural.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A value as JSON on one line, safe to show.
pub(crate) fn inline(value: &Value) -> String {
    escaped(&value.to_string())
}

/// A value as JSON on several lines, safe to show.
pub(crate) fn block(value: &Value) -> String {
    escaped(&format!("{value:#}"))
}

/// Whether a member of this name and value would be hidden: it holds a secret as plain text.
pub(crate) fn is_plain_secret(name: &str, value: &str) -> bool {
    mask::is_secret(name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_command_can_be_mistaken() {
        for (text, shown) in [
            ("npx", "npx"),
            ("@org/server", "@org/server"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("a\nb\u{1b}[2J", r"$'a\nb\u{1b}[2J'"),
            ("a\u{202e}b", r"$'a\u{202e}b'"),
        ] {
            assert_eq!(word(text), shown);
        }
    }

    #[test]
    fn thousands_are_apart() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(number), shown);
        }
    }

    #[test]
    fn references_are_no_secrets() {
        assert!(is_plain_secret("GITHUB_TOKEN", "abc"));
        assert!(is_plain_secret("X", "ghp_0123456789abcdef"));
        assert!(!is_plain_secret("GITHUB_TOKEN", "${GITHUB_TOKEN}"));
        assert!(!is_plain_secret("LOG_LEVEL", "debug"));
    }
}
