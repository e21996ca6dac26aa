//! The check of source files: names, headers, sizes and layout.
//!
//! Used by `cargo xtask tidy`. It judges product code only: tests and the testkit may be as they are.

use std::path::Path;

use super::{functions, locks, names};

/// The longest source file; a file past 400 lines probably holds several things.
const MAX_FILE_LINES: usize = 550;

/// The shortest first line of a module header.
const MIN_HEADER_CHARS: usize = 20;

/// Openings that a module header must not have: its first word names the module's subject.
const BANNED_HEADER_OPENINGS: [&str; 4] = ["What ", "Whoever", "Somebody", "Words about"];

/// The words before the users of a module.
const USER_PHRASES: [&str; 9] = [
    "Used",
    "used",
    "Built into",
    "Called by",
    "Implemented by",
    "Made by",
    "Opened by",
    "Read by",
    "Written by",
];
/// The words before the work that a module leaves to others.
const LIMIT_PHRASES: [&str; 4] = ["It does not", "it does not", "They do not", "they do not"];

/// Returns the problems of a source file.
pub(super) fn check(root: &Path, file: &str, text: &str) -> Vec<String> {
    if !is_product_source(file) {
        return Vec::new();
    }
    let mut problems = names::check(file, text);
    problems.extend(header_problem(text).map(|problem| format!("{file}:1: {problem}")));
    problems.extend(functions::check_sizes(file, text));
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES {
        problems.push(format!(
            "{file}: {lines} lines; at most {MAX_FILE_LINES} are allowed, so split it"
        ));
    }
    if !file.starts_with("xtask/") {
        problems.extend(locks::check(file, text));
    }
    if file.strip_suffix(".rs").is_some_and(|folder| root.join(folder).is_dir()) {
        problems.push(format!("{file}: a module with a folder lives in the folder's `mod.rs`"));
    }
    problems
}

/// The problem of a module's header, if any.
fn header_problem(text: &str) -> Option<String> {
    let first = text.lines().next().and_then(|line| line.strip_prefix("//!"));
    let Some(first) = first.map(str::trim) else {
        return Some(
            "a module begins with `//!`: what it is, who uses it, what it does not do".to_owned(),
        );
    };
    if let Some(opening) =
        BANNED_HEADER_OPENINGS.iter().find(|opening| first.starts_with(**opening))
    {
        let opening = opening.trim_end();
        return Some(format!(
            "the header begins with `{opening}`; begin it with the noun that the module is about"
        ));
    }
    (first.chars().count() < MIN_HEADER_CHARS).then(|| {
        format!("the first line of the header is `{first}`; say what the module is in a sentence")
    })
}

/// Whether a source file has a header that names neither the module's users nor the work that it leaves to others.
pub(super) fn lacks_header_form(file: &str, text: &str) -> bool {
    if !is_product_source(file) {
        return false;
    }
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let header = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let says = |phrases: &[&str], words: usize| {
        phrases.iter().any(|phrase| {
            header.match_indices(phrase).any(|(at, _)| {
                let is_word = !header[..at].ends_with(char::is_alphanumeric);
                is_word && words_after(&header[at + phrase.len()..]) >= words
            })
        })
    };
    // One word is a user, and a verb alone is no work.
    !says(&USER_PHRASES, 1) && !says(&LIMIT_PHRASES, 2)
}

/// The number of words up to the end of the sentence.
fn words_after(text: &str) -> usize {
    if !text.starts_with(' ') {
        return 0;
    }
    let end = text.find(". ").unwrap_or(text.len());
    let words = text[..end].split_whitespace();
    words.filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Whether a file is Rust code of the product, by its place.
pub(super) fn is_product_source(file: &str) -> bool {
    let is_member = file.starts_with("crates/") || file.starts_with("plugins/");
    let is_source = (is_member && file.contains("/src/")) || file.starts_with("xtask/src/");
    let path = Path::new(file);
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let is_test = path.file_name().is_some_and(|name| name == "tests.rs");
    let is_ours = !file.starts_with("crates/testkit/") && !file.contains("/template/");
    is_source && is_rust && is_ours && !is_test
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> usize {
        check(Path::new("/nowhere"), "crates/wire/src/a.rs", text).len()
    }

    #[test]
    fn names_headers_and_sizes_are_judged() {
        let header = "//! The sessions of a client.\n";
        let problems = |rest: &str| problems(&format!("{header}{rest}"));
        assert_eq!(problems("pub struct SessionInfo;\n"), 0);
        assert_eq!(problems("pub(crate) struct Told<T>(T);\nenum Seat {}\n"), 2);
        assert_eq!(problems("use std::sync::Mutex;\n"), 1);
        assert_eq!(problems(&"\n".repeat(MAX_FILE_LINES)), 1);
        assert_eq!(problems(&format!("fn a() {{\n{}}}\n", "    b();\n".repeat(100))), 1);
        assert_eq!(
            check(Path::new("/nowhere"), "crates/wire/tests/it/a.rs", "struct Told;").len(),
            0
        );
    }

    #[test]
    fn a_header_begins_with_its_subject() {
        let check = |text: &str, expected: Option<&str>| {
            let found = header_problem(text);
            match expected {
                None => assert_eq!(found, None, "{text}"),
                Some(words) => {
                    assert!(
                        found.as_ref().is_some_and(|found| found.contains(words)),
                        "{text}: {found:?}"
                    );
                }
            }
        };
        check("//! The sessions of a client.\n", None);
        check("struct A;\n", Some("begins with `//!`"));
        check("//! A.\n", Some("is `A.`"));
        check("//! What a session says to its client.\n", Some("begins with `What`"));
        check("//! Whoever asks gets an answer.\n", Some("begins with `Whoever`"));
        check("//! Words about the hub itself.\n", Some("`Words about`"));
    }

    #[test]
    fn headers_without_the_form_are_counted() {
        let check = |text: &str, expected: bool| {
            assert_eq!(lacks_header_form("crates/wire/src/a.rs", text), expected, "{text}");
        };
        check("//! The sessions of a client.\n//!\n//! Used by the gateway.\n", false);
        check("//! The sessions of a client. It does not open links.\n", false);
        check("//! The sessions of a client.\n\n// Used by the gateway.\n", true);
        check("//! The sessions of a client. It does not.\n", true);
        check("//! The sessions of a client. It does not open.\n", true);
        check("//! The sessions of a client. Used.\n", true);
        check("//! The sessions of a client.\n//! Used\n//! by the gateway.\n", false);
        check("//! The sessions of a client. Unused by the gateway.\n", true);
        assert!(!lacks_header_form("crates/wire/tests/it/a.rs", "struct A;\n"));
        assert!(lacks_header_form("plugins/hello/src/lib.rs", "struct A;\n"));
    }
}
