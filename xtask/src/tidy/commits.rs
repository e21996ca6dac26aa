//! Commits that mend something or make it faster, and do not say why.
//!
//! Used by `cargo xtask tidy`. It looks at commits since the rule was made. It does not fail where their history is
//! absent, as in a shallow clone.

use std::path::Path;
use std::process::Command;

use crate::command::{output, succeeds};
use crate::failure::Result;

/// The last commit before the rule.
const LAST_EXEMPT_COMMIT: &str = "3a87dccd";

/// Words of a subject that promise a fix or a speed-up.
const FIX_WORDS: [&str; 8] =
    ["fix", "fixes", "mend", "mends", "repair", "faster", "quicker", "optimise"];

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
    let mut words = subject.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let is_fix = words.any(|word| FIX_WORDS.contains(&&*word));
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
        check("wire: prefix the id of a response", "", false);
        check("wire: delete what was there for speed", "", false);
        check("Fix: a response without an id", "", true);
        assert_eq!(problem("\n"), None);
    }
}
