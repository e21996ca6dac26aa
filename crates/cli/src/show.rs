//! Text helpers for people: entries on one line, shell quoting, cutting, columns, times, JSON with visible characters.
//!
//! Used by the commands, `ask` and `ui::view`. Everything invisible is escaped, so that no part of an entry can pass
//! for something else. It does not redact (`config::redact` does) and does not print.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use switchboard_config::redact;
use switchboard_wire::sanitize;

use crate::printer::DIM;

/// The longest line about a server.
const MAX_LINE_CHARS: usize = 70;
/// Programs that start another one, which their arguments name.
const LAUNCHERS: [&str; 12] = [
    "npx", "bunx", "uvx", "uv", "run", "pnpm", "dlx", "node", "python", "python3", "docker", "env",
];
/// The width of a table where there is no terminal.
const TABLE_WIDTH: usize = 80;
/// The shortest cut of a text, on the narrowest terminal.
const MIN_TEXT_CHARS: usize = 16;
/// A longer run of spaces is replaced by its count: it could push the rest of a command out of sight.
const MAX_SPACES: usize = 16;

/// A state of a server in words, from its word in JSON. The console says the same words (`server-state.js`).
pub(crate) fn state_word(state: &str) -> &str {
    match state {
        "needs-auth" => "sign-in needed",
        "awaiting-approval" => "awaiting approval",
        "pending" => "connecting",
        "silent" => "does not answer",
        other => other,
    }
}

/// The command line or URL of an entry, for a table; `entry` is redacted already.
pub(crate) fn target(entry: &Value) -> String {
    match entry["url"].as_str() {
        Some(url) if entry["command"].is_null() => sanitize::sanitize_line(url).into_owned(),
        _ => command_line(entry),
    }
}

/// The command line or URL of an entry, cut for a table.
pub(crate) fn short_target(entry: &Value) -> String {
    match target(entry) {
        nothing if nothing.is_empty() => "-".to_owned(),
        target => shorten(&target, MAX_LINE_CHARS),
    }
}

/// What tells an entry from others in `width` columns: a command without the program that starts it, a URL without
/// its scheme, if the whole does not fit.
pub(crate) fn distinctive_target(entry: &Value, width: usize) -> String {
    let whole = target(entry);
    if whole.is_empty() {
        return "-".to_owned();
    }
    if whole.chars().count() <= width {
        return whole;
    }
    let words: Vec<_> = whole.split(' ').collect();
    let is_launcher = |word: &&&str| {
        let program = word.rsplit('/').next().unwrap_or(word);
        LAUNCHERS.contains(&program) || word.starts_with('-')
    };
    let launchers = words[..words.len() - 1].iter().take_while(is_launcher).count();
    // A word that begins with `-` is a flag of a launcher only behind one.
    let rest = if words[0].starts_with('-') { whole } else { words[launchers..].join(" ") };
    let rest = rest.split_once("://").map_or(&*rest, |(_, address)| address);
    let is_one_word = !rest.contains([' ', '?']);
    let excess = rest.chars().count().saturating_sub(width);
    match excess {
        0 => rest.to_owned(),
        // The end of a path or of a package says more than its beginning.
        _ if is_one_word && rest.starts_with(['/', '@']) => {
            let end: String = rest.chars().skip(excess + 1).collect();
            format!("…{end}")
        }
        _ => shorten(rest, width.saturating_sub(1)),
    }
}

/// Text in lines that fit the terminal behind `indent` columns; one line where standard output is no terminal.
pub(crate) fn wrap_to_terminal(text: &str, indent: usize) -> Vec<String> {
    match width() {
        Some(width) => wrap(text, width.saturating_sub(indent).max(MIN_TEXT_CHARS)),
        None => vec![text.to_owned()],
    }
}

/// Text in lines of at most `width` columns, broken at spaces, but not inside backquotes: a command in them is copied.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut is_quoted = false;
    for (index, word) in text.split(' ').enumerate() {
        let joins = is_quoted;
        is_quoted ^= word.matches('`').count() % 2 == 1;
        let Some(line) = lines.last_mut() else { continue };
        let fits = line.chars().count() + 1 + word.chars().count() <= width;
        if index == 0 || joins || fits {
            line.push_str(if index == 0 { "" } else { " " });
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The transport of an entry.
pub(crate) fn transport(entry: &Value) -> &str {
    match entry["type"].as_str() {
        Some("streamable-http") => "http",
        Some(kind) => kind,
        None if entry["command"].is_string() => "stdio",
        None if entry["url"].is_string() => "http",
        None => "unknown",
    }
}

/// A command and its arguments, quoted for a shell; an argument that is not a string is shown as JSON.
pub(crate) fn command_line(entry: &Value) -> String {
    let command = Some(&entry["command"]).filter(|command| !command.is_null());
    let args = entry["args"].as_array().into_iter().flatten();
    let argument = |value: &Value| value.as_str().map_or_else(|| inline(value), word);
    command.into_iter().chain(args).map(argument).collect::<Vec<_>>().join(" ")
}

/// A word quoted for a shell; invisible characters are escaped, and nothing is left out.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-${}*".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else if text.chars().all(sanitize::is_visible) && !text.contains(&" ".repeat(MAX_SPACES + 1))
    {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        format!("$'{}'", written_out(text))
    }
}

/// A URL or a member path: unchanged if all characters are plain ASCII, otherwise quoted.
pub(crate) fn bare(text: &str) -> String {
    let is_bare = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    if is_bare { text.to_owned() } else { word(text) }
}

/// Text between `$'` and `'`: invisible characters escaped, long runs of spaces counted.
fn written_out(text: &str) -> String {
    let escape = |c: char| match c {
        '\\' | '\'' => format!("\\{c}"),
        c if sanitize::is_visible(c) => c.to_string(),
        '\n' | '\r' | '\t' => c.escape_default().to_string(),
        c => c.escape_unicode().to_string(),
    };
    let pieces = spaces_apart(text);
    let piece =
        |piece: &str| counted_spaces(piece).unwrap_or_else(|| piece.chars().map(escape).collect());
    pieces.map(piece).collect()
}

/// The count of a long run of spaces; `None` for other text.
fn counted_spaces(piece: &str) -> Option<String> {
    let is_long = piece.len() > MAX_SPACES && piece.bytes().all(|byte| byte == b' ');
    is_long.then(|| format!("\\[{} spaces]", group_thousands(piece.len())))
}

/// Splits text into runs of spaces and the text between them.
fn spaces_apart(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_space = rest.starts_with(' ');
        let end = rest.find(|c: char| (c == ' ') != is_space).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Text cut after `shown` characters.
pub(crate) fn shorten(text: &str, shown: usize) -> String {
    match text.char_indices().nth(shown) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

/// Text cut to the rest of a terminal line after `taken` columns; not cut if standard output is no terminal.
pub(crate) fn fit_to_width(text: &str, taken: usize) -> String {
    match width() {
        Some(width) => shorten(text, width.saturating_sub(taken + 1).max(MIN_TEXT_CHARS)),
        None => text.to_owned(),
    }
}

/// Dimmed text; empty text stays empty, without escape codes.
pub(crate) fn dim(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{DIM}{text}{DIM:#}") }
}

/// The width of the terminal on standard output, if it is one.
fn width() -> Option<usize> {
    let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(std::io::stdout())?;
    // A terminal that does not know its size reports zero.
    (width > 0).then_some(usize::from(width))
}

/// The width of a table: that of the terminal on standard output, else 80 columns.
pub(crate) fn table_width() -> usize {
    width().map_or(TABLE_WIDTH, |width| width.max(TABLE_WIDTH))
}

/// A number with commas between thousands.
pub(crate) fn group_thousands(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let (head, rest) = digits.split_at(first);
    let groups = rest.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let head = (!head.is_empty()).then(|| head.to_owned());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

/// Rows with aligned columns; the last column is not padded.
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
    let at = UNIX_EPOCH + Duration::from_secs(seconds);
    let stamp = switchboard_core::logs::format_timestamp(at);
    format!("{}Z", stamp[..16].replace('T', " "))
}

/// How long ago a moment is, in milliseconds since 1970.
pub(crate) fn ago(unix_millis: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(unix_millis);
    let seconds = at.elapsed().unwrap_or_default().as_secs();
    match seconds {
        0..10 => "just now".to_owned(),
        10..120 => format!("{seconds} s ago"),
        120..7200 => format!("{} min ago", seconds / 60),
        _ => format!("{} h ago", seconds / 3600),
    }
}

/// A number with its noun, in the plural if needed.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", group_thousands(number))
}

/// A value as JSON on one line, for people: invisible characters are escaped, and nothing is left out.
pub(crate) fn inline(value: &Value) -> String {
    visible_json(&value.to_string())
}

/// A value as indented JSON, for people: invisible characters are escaped, and nothing is left out.
pub(crate) fn block(value: &Value) -> String {
    let text = format!("{value:#}");
    text.lines().map(visible_json).collect::<Vec<_>>().join("\n")
}

/// A character as JSON escapes it.
fn json_escape(c: char) -> String {
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units).iter();
    let escapes: Vec<_> = units.map(|unit| format!("\\u{unit:04x}")).collect();
    escapes.concat()
}

/// One line of JSON. Its indentation stays; a long run of spaces inside a text is counted.
fn visible_json(line: &str) -> String {
    let indentation = line.len() - line.trim_start_matches(' ').len();
    let (indentation, rest) = line.split_at(indentation);
    let escape = |c: char| match c {
        c if sanitize::is_visible(c) => c.to_string(),
        c => json_escape(c),
    };
    let piece =
        |piece: &str| counted_spaces(piece).unwrap_or_else(|| piece.chars().map(escape).collect());
    indentation.to_owned() + &spaces_apart(rest).map(piece).collect::<String>()
}

/// Whether a member with this name and value is a secret in plain text.
pub(crate) fn is_plain_secret(name: &str, value: &str) -> bool {
    redact::is_secret(name, value)
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
            ("a\u{3164}b\u{2003}c\\'", r"$'a\u{3164}b\u{2003}c\\\''"),
            (&format!("a{}b", " ".repeat(16)), &format!("'a{}b'", " ".repeat(16))),
            (&format!("a{}b", " ".repeat(5000)), r"$'a\[5,000 spaces]b'"),
        ] {
            assert_eq!(word(text), shown);
        }
    }

    #[test]
    fn nothing_in_json_can_be_mistaken() {
        let value = serde_json::json!({ "a": [format!("x{}\r\u{202e}\u{a0}y", " ".repeat(20))] });
        assert_eq!(inline(&value), r#"{"a":["x\[20 spaces]\r\u202e\u00a0y"]}"#);
        assert_eq!(
            block(&value),
            "{\n  \"a\": [\n    \"x\\[20 spaces]\\r\\u202e\\u00a0y\"\n  ]\n}"
        );
    }

    #[test]
    fn a_long_target_keeps_what_tells_it_apart() {
        let check = |words: &str, width, shown: &str| {
            let entry = match words.split_once(' ') {
                _ if words.contains("://") => serde_json::json!({ "url": words }),
                Some((command, rest)) => {
                    let args: Vec<_> = rest.split(' ').collect();
                    serde_json::json!({ "command": command, "args": args })
                }
                None => serde_json::json!({ "command": words }),
            };
            let found = distinctive_target(&entry, width);
            assert_eq!(found, shown);
            assert!(found.chars().count() <= width, "{found}");
        };
        check("npx -y server", 20, "npx -y server");
        check("npx -y server", 12, "server");
        check("npx -y @modelcontextprotocol/server-github", 20, "…tocol/server-github");
        check("npx -y server --port 8000", 20, "server --port 8000");
        check("/usr/bin/env node /srv/deep/inside/server.js", 14, "…ide/server.js");
        check("https://example.com/mcp", 15, "example.com/mcp");
        check("https://example.com/mcp/more", 15, "example.com/mc…");
        check("program-without-launcher --flag", 10, "program-w…");
    }

    #[test]
    fn a_command_is_not_broken_over_lines() {
        let lines = wrap("sign in with `switchboard login web` and try again", 20);
        assert_eq!(lines, ["sign in with", "`switchboard login web`", "and try again"]);
        assert_eq!(wrap("", 20), [""]);
    }

    #[test]
    fn thousands_are_apart() {
        for (number, shown) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(group_thousands(number), shown);
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
