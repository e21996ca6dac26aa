//! The tests that failed, read from the `JUnit` report of `cargo nextest`.
//!
//! Used by `everything`, so that the end of a long run names them: a CI log is often cut to its last lines. The
//! report's path is set in `.config/nextest.toml`.

use std::fmt::Write as _;

use crate::paths;

const REPORT: &str = "target/nextest/default/junit.xml";
/// Enough for a panic message and its place.
const LINES_OF_EACH: usize = 12;

/// Deletes the report of an earlier run, which would name its failures again.
pub(crate) fn forget() {
    // There is none before the first run.
    let _ = std::fs::remove_file(paths::root().join(REPORT));
}

/// A line for each test that failed, with the start of its output below. `None` if there is no report.
pub(crate) fn describe() -> Option<String> {
    let report = std::fs::read_to_string(paths::root().join(REPORT)).ok()?;
    Some(describe_report(&report)).filter(|text| !text.is_empty())
}

fn describe_report(report: &str) -> String {
    let mut text = String::new();
    for case in report.split("<testcase ").skip(1) {
        let case = case.split("</testcase>").next().unwrap_or_default();
        // A test that passed at its second run has a `<flakyFailure>` instead.
        let Some((_, failure)) = case.split_once("<failure") else { continue };
        let crate_name = attribute(case, "classname");
        let _ = writeln!(text, "{crate_name} {}", attribute(case, "name"));
        let body = failure.split_once('>').map_or("", |(_, body)| body);
        let body = unescape(body.split("</failure>").next().unwrap_or_default());
        for line in body.trim().lines().take(LINES_OF_EACH) {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    // The space keeps `name` apart from `classname`.
    let head = tag.split('>').next().unwrap_or_default();
    head.strip_prefix(&format!("{name}=\""))
        .or_else(|| head.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest))
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
}

fn unescape(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_are_named() {
        let report = r#"<testsuite name="switchboard-cli::it">
            <testcase name="list::is_short" classname="switchboard-cli::it" time="0.1"></testcase>
            <testcase name="top::is_live" classname="switchboard-cli::it" time="0.1">
                <flakyFailure type="test failure">late</flakyFailure>
            </testcase>
            <testcase name="call::is_fast" classname="switchboard-cli::it" time="0.1">
                <failure type="test failure" message="panicked">thread panicked at call.rs:3
a &lt; b</failure>
                <system-out>call.rs</system-out>
            </testcase>"#;
        assert_eq!(
            describe_report(report),
            "switchboard-cli::it call::is_fast\n    thread panicked at call.rs:3\n    a < b\n"
        );
        assert_eq!(describe_report(""), "");
    }
}
