//! Commits that mend something or make it faster, and do not say why.
//!
//! Used by `cargo xtask tidy`. It looks at commits since the rule was made. It does not fail where their history is
//! absent, as in a shallow clone.

use std::path::Path;
use std::process::Command;

use crate::command::{output, succeeds};
use crate::failure::Result;

/// The last commit before the rule.
const LAST_EXEMPT_COMMIT: &str = "01028d63";

/// Words of a subject that promise a fix or a speed-up.
const FIX_WORDS: [&str; 15] = [
    "correct",
    "corrects",
    "fix",
    "fixed",
    "fixes",
    "mend",
    "mends",
    "repair",
    "repairs",
    "faster",
    "quicker",
    "optimise",
    "optimises",
    "optimize",
    "optimizes",
];
/// Two words that do the same.
const FIX_PAIRS: [(&str, &str); 2] = [("speed", "up"), ("speeds", "up")];

/// Commits that lack a body.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(root);
        command
    };
    if !succeeds(&mut git(&["merge-base", "--is-ancestor", LAST_EXEMPT_COMMIT, "HEAD"])) {
        return Ok(Vec::new());
    }
    let range = format!("{LAST_EXEMPT_COMMIT}..HEAD");
    let log = output(&mut git(&["log", "--no-merges", "--format=%h%x00%s%x00%b%x01", &range]))?;
    Ok(log.split('\u{1}').filter_map(problem).collect())
}

/// The problem of a commit, if any: its id, subject and body come with a NUL between them.
fn problem(commit: &str) -> Option<String> {
    let mut parts = commit.trim_start().split('\0');
    let (id, subject, body) = (parts.next()?, parts.next()?, parts.next()?);
    let subject_lower = subject.to_lowercase();
    let words: Vec<_> = subject_lower.split(|c: char| !c.is_alphanumeric()).collect();
    let is_fix = words.iter().any(|word| FIX_WORDS.contains(word))
        || words.windows(2).any(|pair| FIX_PAIRS.contains(&(pair[0], pair[1])));
    (is_fix && body.trim().is_empty()).then(|| {
        format!(
            "commit {id}: `{subject}` has no body; say what was wrong and how it showed, or the figures before and after"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_has_a_body() {
        let check = |subject: &str, body: &str, expected: bool| {
            let found = problem(&format!("\n1234567\0{subject}\0{body}"));
            assert_eq!(found.is_some(), expected, "{subject}: {found:?}");
        };
        check("wire: fix the id of a response", "", true);
        check("wire: fix the id of a response", "\n", true);
        check("wire: fix the id of a response", "It was `\"7\"` for 7.\n", false);
        check("wire: make the parser faster", "", true);
        check("wire: speed up the parser", "", true);
        check("wire: optimize the parser", "", true);
        check("docs: correct the port", "", true);
        check("wire: count the speed of a link", "", false);
        check("wire: prefix the id of a response", "", false);
        check("wire: delete what was there for speed", "", false);
        check("Fix: a response without an id", "", true);
        assert_eq!(problem("\n"), None);
    }
}
