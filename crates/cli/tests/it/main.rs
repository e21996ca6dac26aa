//! The program as a person meets it: what was typed, what was printed, how it ended.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test that fails should say where, and a rendering need not be fast"
)]

mod add;
mod approve;
mod change;
mod concurrent;
mod docs;
mod edit;
mod global;
mod hostile;
mod import;
mod list;
mod managed;
mod probe;
mod story;
mod terminal;

pub(crate) use story::{Home, Story};

/// Times and ports differ; everything else does not.
pub(crate) fn steady(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = replace_number(line, "connected in ", " ms");
        let line = replace_number(&line, "answered in ", " ms");
        let line = replace_number(&line, "\"connectMillis\": ", "");
        let line = replace_number(&line, "\"millis\": ", ",");
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// `…before 12after…` becomes `…before Nafter…`.
fn replace_number(line: &str, before: &str, after: &str) -> String {
    let Some(start) = line.find(before).map(|at| at + before.len()) else {
        return line.into();
    };
    let digits = line[start..].chars().take_while(char::is_ascii_digit).count();
    if digits == 0 || !line[start + digits..].starts_with(after) {
        return line.into();
    }
    format!("{}N{}", &line[..start], &line[start + digits..])
}
