//! The check of documents against the tree: the files that ARCHITECTURE.md and docs/performance.md name exist, and the
//! walks of ARCHITECTURE.md are short.
//!
//! Used by `cargo xtask tidy`. [`super::dependencies`] compares the table of crates. It does not read prose.

use std::collections::BTreeSet;
use std::path::Path;

use crate::failure::{AboutFile, Result};

/// The most steps of a walk through the code, and the most modules that it names.
const MAX_WALK_STEPS: usize = 12;
const DOCUMENT: &str = "ARCHITECTURE.md";
/// The document that has a file for each mechanism.
const MECHANISMS: &str = "docs/performance.md";
/// The heading of the section with the walks.
const WALKS: &str = "## Four walks";

/// Returns the problems of both documents.
pub(super) fn check(root: &Path, files: &BTreeSet<String>) -> Result<Vec<String>> {
    let read = |name: &str| {
        let path = root.join(name);
        std::fs::read_to_string(&path).about("read", &path)
    };
    let mut problems = problems(&read(DOCUMENT)?, files);
    problems.extend(missing_files(MECHANISMS, &read(MECHANISMS)?, files));
    Ok(problems)
}

fn problems(text: &str, files: &BTreeSet<String>) -> Vec<String> {
    let walks = section(text, WALKS);
    let mut problems = missing_files(DOCUMENT, text, files);
    problems.extend(missing_modules(walks, files));
    problems.extend(long_walks(walks, files));
    problems
}

/// The text from a heading to the next one.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let after = text.split_once(heading).map_or("", |(_, after)| after);
    after.split_once("\n## ").map_or(after, |(section, _)| section)
}

/// The texts between backticks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Source files that are named, and are not there.
fn missing_files(document: &str, text: &str, files: &BTreeSet<String>) -> Vec<String> {
    let is_source = |span: &&str| Path::new(span).extension().is_some_and(|kind| kind == "rs");
    let named = code_spans(text).filter(is_source);
    let missing = named.filter(|name| {
        !files.iter().any(|file| file == name || file.ends_with(&format!("/{name}")))
    });
    missing.map(|name| format!("{document}: there is no file `{name}`")).collect()
}

/// Modules of the walks, such as `core/dispatch/tool`, that are not there. A name without `/` is an item.
fn missing_modules(walks: &str, files: &BTreeSet<String>) -> Vec<String> {
    let is_module = |span: &&str| {
        span.contains('/') && span.chars().all(|c| c.is_ascii_lowercase() || "_/".contains(c))
    };
    // A method of the protocol has the form of a path, too.
    let named = code_spans(walks).filter(is_module).filter(|span| *span != "tools/call");
    let missing = named.filter(|name| !files.iter().any(|file| is_file_of(file, name)));
    missing.map(|name| format!("{DOCUMENT}: there is no module `{name}`")).collect()
}

/// Whether a file belongs to the module with this path, which may begin with its crate or inside of it.
fn is_file_of(file: &str, module: &str) -> bool {
    let Some((name, source)) =
        file.strip_prefix("crates/").and_then(|file| file.split_once("/src/"))
    else {
        return false;
    };
    let place = format!("/{name}/{source}");
    let of_file = format!("/{module}.rs");
    place.ends_with(&of_file) || place.contains(&format!("/{module}/"))
}

fn long_walks(walks: &str, files: &BTreeSet<String>) -> Vec<String> {
    let items = walks.replace('\n', " ");
    let numbered = (1..=9).filter_map(|number| {
        let (_, rest) = items.split_once(&format!(" {number}. "))?;
        let end = rest.find(&format!(" {}. ", number + 1)).unwrap_or(rest.len());
        let (_, walk) = rest[..end].split_once(".**")?;
        Some((number, walk))
    });
    let problem = |number, count, what| {
        format!(
            "{DOCUMENT}: walk {number} has {count} {what}; at most {MAX_WALK_STEPS} are allowed"
        )
    };
    let too_many = numbered.flat_map(|(number, walk)| {
        let (steps, modules) = (walk.matches('→').count() + 1, count_modules(walk, files));
        let steps = (steps > MAX_WALK_STEPS).then(|| problem(number, steps, "steps"));
        let modules = (modules > MAX_WALK_STEPS).then(|| problem(number, modules, "modules"));
        steps.into_iter().chain(modules)
    });
    too_many.collect()
}

/// The number of modules that a walk names, each once: a later name may leave out how its path begins.
fn count_modules(walk: &str, files: &BTreeSet<String>) -> usize {
    let is_name = |span: &&str| span.chars().all(|c| c.is_ascii_lowercase() || "_/".contains(c));
    let named = code_spans(walk).filter(is_name);
    let named = named.filter(|name| files.iter().any(|file| is_file_of(file, name)));
    let mut modules: Vec<&str> = Vec::new();
    for name in named {
        if !modules.iter().any(|known| *known == name || known.ends_with(&format!("/{name}"))) {
            modules.push(name);
        }
    }
    modules.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<String> {
        let files = ["crates/core/src/dispatch/tool.rs", "crates/core/src/catalog/mod.rs"];
        problems(text, &files.map(str::to_owned).into())
    }

    #[test]
    fn files_that_are_gone_are_named() {
        assert_eq!(
            check("`tool.rs`, `dispatch/tool.rs`, `gone.rs`"),
            ["ARCHITECTURE.md: there is no file `gone.rs`"]
        );
    }

    #[test]
    fn modules_of_walks_exist() {
        let walks = "## Four walks\n\n1. **A `tools/call`.** `core/dispatch/tool` → `core/catalog` → `core/gone`\n\n## B\n`a/b`";
        assert_eq!(check(walks), ["ARCHITECTURE.md: there is no module `core/gone`"]);
    }

    #[test]
    fn a_walk_is_short() {
        let walk = |steps: usize| {
            format!(
                "## Four walks\n\n1. **One.** `x`\n2. **Two.** {}\n",
                vec!["x"; steps].join(" → ")
            )
        };
        assert_eq!(check(&walk(12)), [""; 0]);
        assert_eq!(
            check(&walk(13)),
            ["ARCHITECTURE.md: walk 2 has 13 steps; at most 12 are allowed"]
        );
    }

    #[test]
    fn a_walk_names_few_modules() {
        let files: BTreeSet<_> =
            ('a'..='m').map(|letter| format!("crates/core/src/{letter}.rs")).collect();
        let check = |letters: std::ops::RangeInclusive<char>, problems: &[&str]| {
            let names = letters.map(|letter| format!("`core/{letter}`")).collect::<Vec<_>>();
            let walk = format!("## Four walks\n\n1. **One.** {}, `a` (back)\n", names.join(", "));
            assert_eq!(super::problems(&walk, &files), problems);
        };
        check('a'..='l', &[]);
        check('a'..='m', &["ARCHITECTURE.md: walk 1 has 13 modules; at most 12 are allowed"]);
    }
}
