//! Sizes of functions, and functions and long runs of lines that stand twice.
//!
//! Used by `cargo xtask tidy`. It reads source text in the form that `cargo fmt` gives it, where the closing brace of a
//! function stands as far to the right as its `fn`. It does not read macros, tests, or functions of one line.

use std::collections::{BTreeMap, BTreeSet};

/// The longest function, with its signature. A function past 40 lines already needs a reason.
const MAX_FUNCTION_LINES: usize = 75;

/// The shortest body that must not stand twice, without blank lines and comments.
const MIN_DUPLICATE_LINES: usize = 6;

/// The shortest run of equal lines that must not stand in two functions, counted in the same way.
const MIN_REPEATED_LINES: usize = 20;

/// The qualifiers that may stand before `fn`, besides the visibility.
const QUALIFIERS: [&str; 5] = ["default ", "const ", "async ", "unsafe ", "extern \"C\" "];

/// One function of a file.
struct Function<'a> {
    name: &'a str,
    /// The line on which the function begins, from 1.
    line: usize,
    /// The number of the function's lines, with its signature.
    lines: usize,
    /// The body, without blank lines, comments and the space around lines.
    body: Vec<&'a str>,
}

/// The function bodies of all files.
#[derive(Default)]
pub(super) struct FunctionBodies {
    /// Whole bodies, each with its places: `file:line`.
    whole: BTreeMap<String, Vec<String>>,
    /// Long runs of lines, each with the first function that has it.
    runs: BTreeMap<String, FunctionPlace>,
    /// Pairs of functions that share a run.
    repeats: BTreeSet<(String, String)>,
}

/// The place of a function.
struct FunctionPlace {
    /// Its file, line and name, for a message.
    text: String,
    file: String,
    /// Its last line.
    end: usize,
}

/// Functions of a file that are too long.
pub(super) fn check_sizes(file: &str, text: &str) -> Vec<String> {
    let long = functions(text).filter(|function| function.lines > MAX_FUNCTION_LINES);
    let problem = |Function { name, line, lines, .. }: Function<'_>| {
        format!(
            "{file}:{line}: `{name}` has {lines} lines; at most {MAX_FUNCTION_LINES} are allowed, so give its steps names"
        )
    };
    long.map(problem).collect()
}

// === impl FunctionBodies ===

impl FunctionBodies {
    /// Adds the functions of a file.
    pub(super) fn add(&mut self, file: &str, text: &str) {
        for function in functions(text) {
            let place = format!("{file}:{}: `{}`", function.line, function.name);
            for run in function.body.windows(MIN_REPEATED_LINES) {
                let end = function.line + function.lines;
                let new = || FunctionPlace { text: place.clone(), file: file.to_owned(), end };
                let first = self.runs.entry(run.join("\n")).or_insert_with(new);
                // A function inside of another one has its lines in common with it.
                if first.file != file || first.end <= function.line {
                    self.repeats.insert((first.text.clone(), place.clone()));
                }
            }
            if function.body.len() >= MIN_DUPLICATE_LINES {
                self.whole.entry(function.body.join("\n")).or_default().push(place);
            }
        }
    }

    /// Functions whose body, or a long run of it, equals that of another one.
    pub(super) fn duplicates(&self) -> Vec<String> {
        let repeated = self.whole.values().filter_map(|places| places.split_first());
        let repeated = repeated.flat_map(|(first, others)| {
            others.iter().map(move |other| {
                format!("{other} has the body of {first}; keep one, where both callers see it")
            })
        });
        let runs = self.repeats.iter().map(|(first, other)| {
            format!("{other} repeats {MIN_REPEATED_LINES} lines of {first}; give them a function")
        });
        repeated.chain(runs).collect()
    }
}

/// The functions of a file with a body of more than one line, up to its tests.
fn functions(text: &str) -> impl Iterator<Item = Function<'_>> {
    let lines: Vec<_> = text.lines().collect();
    let end = lines.windows(2).position(is_test_module).unwrap_or(lines.len());
    let found: Vec<_> = (0..end).filter_map(|at| function_at(&lines[..end], at)).collect();
    found.into_iter()
}

fn is_test_module(lines: &[&str]) -> bool {
    matches!(lines, ["#[cfg(test)]", module] if module.starts_with("mod ") && module.ends_with('{'))
}

/// The function that begins on a line.
fn function_at<'a>(lines: &[&'a str], at: usize) -> Option<Function<'a>> {
    let name = function_name(lines[at])?;
    let indent = indent_of(lines[at]);
    let mut own = lines[at..].iter().enumerate().filter(|(_, line)| indent_of(line) == indent);
    let ends_signature = |line: &str| line.ends_with(['{', '}', ';']);
    let (open, line) = own.find(|(_, line)| !line.is_empty() && ends_signature(line))?;
    if !line.ends_with('{') {
        return None;
    }
    let (close, _) = own.find(|(_, line)| line.trim_start() == "}")?;
    let body = lines[at + open + 1..at + close].iter().map(|line| line.trim());
    let body = body.filter(|line| !line.is_empty() && !line.starts_with("//")).collect();
    Some(Function { name, line: at + 1, lines: close + 1, body })
}

/// The name of the function whose signature begins on a line.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(visible) = rest.strip_prefix("pub") {
        rest = match visible.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => visible,
        };
        rest = rest.strip_prefix(' ')?;
    }
    while let Some(after) = QUALIFIERS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after;
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_behind_every_qualifier() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(function_name(line), expected, "{line}");
        };
        check("fn a() {", Some("a"));
        check("    pub(in crate::engine) async fn read_all<T>(", Some("read_all"));
        check("pub const unsafe extern \"C\" fn call(", Some("call"));
        check("let a = fn_of(b);", None);
        check("public fn a()", None);
    }

    #[test]
    fn the_size_is_counted_from_the_signature_to_the_brace() {
        let function = |lines: usize| {
            let body = "        step();\n".repeat(lines - 4);
            format!("impl A {{\n    pub fn long(\n        a: u8,\n    ) {{\n{body}    }}\n}}\n")
        };
        assert_eq!(check_sizes("a.rs", &function(MAX_FUNCTION_LINES)), [""; 0]);
        let found = check_sizes("a.rs", &function(MAX_FUNCTION_LINES + 1));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.rs:2: `long` has 76 lines; at most 75"), "{found:?}");
        let test = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(200));
        assert_eq!(check_sizes("a.rs", &test), [""; 0]);
    }

    #[test]
    fn a_body_that_stands_twice_is_found() {
        let body = |lines: usize, indent: &str| format!("{indent}    a();\n\n").repeat(lines);
        let check = |first: &str, second: &str| {
            let mut bodies = FunctionBodies::default();
            bodies.add("a.rs", first);
            bodies.add("b.rs", second);
            bodies.duplicates()
        };
        let function = |name: &str, lines| format!("fn {name}() {{\n{}}}\n", body(lines, ""));
        let method =
            format!("impl A {{\n    // why\n    fn c() {{\n{}    }}\n}}\n", body(6, "    "));
        assert_eq!(check(&function("a", 5), &function("b", 5)), [""; 0]);
        assert_eq!(check(&function("a", 6), &function("b", 7)), [""; 0]);
        assert_eq!(
            check(&function("a", 6), &method),
            ["b.rs:3: `c` has the body of a.rs:1: `a`; keep one, where both callers see it"]
        );
        assert_eq!(check("fn a() {}\nfn b();\n", "trait T {\n    fn c();\n}\n"), [""; 0]);
    }

    #[test]
    fn a_long_run_that_stands_in_two_functions_is_found() {
        let check = |lines: usize, problems: &[&str]| {
            let shared =
                (0..lines).map(|line| format!("    step_{line}();\n")).collect::<Vec<_>>().concat();
            let mut bodies = FunctionBodies::default();
            bodies.add("a.rs", &format!("fn a() {{\n    first();\n{shared}}}\n"));
            bodies.add("b.rs", &format!("fn b() {{\n{shared}    last();\n}}\n"));
            assert_eq!(bodies.duplicates(), problems);
        };
        check(19, &[]);
        check(22, &["b.rs:1: `b` repeats 20 lines of a.rs:1: `a`; give them a function"]);
        let mut bodies = FunctionBodies::default();
        let inner =
            (0..22).map(|line| format!("        step_{line}();\n")).collect::<Vec<_>>().concat();
        bodies.add("a.rs", &format!("fn a() {{\n    fn b() {{\n{inner}    }}\n}}\n"));
        assert_eq!(bodies.duplicates(), [""; 0]);
    }
}
