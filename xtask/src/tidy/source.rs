//! The check of source files: names, headers, sizes and layout.
//!
//! Used by `tidy`, on product code only; tests and the testkit are exempt.

use std::path::Path;

/// The longest source file; past 400 lines it is probably several things.
const MAX_FILE_LINES: usize = 550;

/// Type names that say nothing on their own: participles, pronouns and metaphors.
const BANNED_TYPE_NAMES: &str = "Asked Book Chair Desk Found Given Glance Handed Held Here House Kept Known Named Office \
    Opened Own Passed Placed Pulse Room Rooms Said Seat Seen Shown Standing Taken Told Wanted Who Whose";

/// Returns the problems of a source file.
pub(super) fn check(root: &Path, file: &str, text: &str) -> Vec<String> {
    if !is_product_source(file) {
        return Vec::new();
    }
    let mut problems: Vec<_> = banned_names(file, text).collect();
    if !text.starts_with("//!") {
        problems.push(format!(
            "{file}:1: a module begins with `//!`: what it is, who uses it, what it does not do"
        ));
    }
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES {
        problems.push(format!(
            "{file}: {lines} lines; at most {MAX_FILE_LINES} are allowed, so split it"
        ));
    }
    if file.strip_suffix(".rs").is_some_and(|folder| root.join(folder).is_dir()) {
        problems.push(format!("{file}: a module with a folder lives in the folder's `mod.rs`"));
    }
    problems
}

fn is_product_source(file: &str) -> bool {
    let is_source =
        (file.starts_with("crates/") && file.contains("/src/")) || file.starts_with("xtask/src/");
    let is_rust = Path::new(file).extension().is_some_and(|extension| extension == "rs");
    is_source && is_rust && !file.starts_with("crates/testkit/") && !file.contains("/template/")
}

fn banned_names(file: &str, text: &str) -> impl Iterator<Item = String> {
    text.lines().enumerate().filter_map(move |(index, line)| {
        let name = defined_type(line)?;
        let is_banned = BANNED_TYPE_NAMES.split_whitespace().any(|banned| banned == name);
        is_banned.then(|| {
            format!(
                "{file}:{}: `{name}` says nothing by itself; docs/glossary.md has the words",
                index + 1
            )
        })
    })
}

/// The type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> usize {
        check(Path::new("/nowhere"), "crates/wire/src/a.rs", text).len()
    }

    #[test]
    fn names_headers_and_sizes_are_judged() {
        assert_eq!(problems("//! A.\npub struct SessionInfo;\n"), 0);
        assert_eq!(problems("//! A.\npub(crate) struct Told<T>(T);\nenum Seat {}\n"), 2);
        assert_eq!(problems("struct A;\n"), 1);
        assert_eq!(problems(&format!("//! A.\n{}", "\n".repeat(MAX_FILE_LINES))), 1);
        assert_eq!(
            check(Path::new("/nowhere"), "crates/wire/tests/it/a.rs", "struct Told;").len(),
            0
        );
    }
}
