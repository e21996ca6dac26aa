//! The check of names: participles, pronouns and metaphors that say nothing by themselves.
//!
//! Used by `cargo xtask tidy` on product code: types, variants, constants, modules and files, and functions and fields that
//! are public. It does not judge private functions, private fields and variables.

/// The words that are no name of a thing, nor a part of one.
const BANNED_WORDS: &str = "Asked Book Chair Desk Found Given Glance Held Here House Kept Known Office Own Placed Pulse \
    Room Seat Seen Standing Taken Told Wanted";

/// Words that may be a part of a name, and are none alone.
const BANNED_ALONE: &str = "Handed Most Named Opened Passed Rooms Said Shown Who Whose";

/// Names of the field that have a banned word in them.
const ALLOWED: [(&str, &str); 1] = [("NotFound", "the usual word for a lookup that finds nothing")];

/// One definition of a file.
struct Definition<'a> {
    /// The line on which it begins, from 1.
    line: usize,
    name: &'a str,
}

/// Returns the problems of a file's name and of the names that it defines.
pub(super) fn check(file: &str, text: &str) -> Vec<String> {
    let problem = |line: usize, name: &str| {
        format!("{file}:{line}: `{name}` says nothing by itself; docs/glossary.md has the words")
    };
    let module = module_name(file).filter(|name| is_banned(name)).map(|name| problem(1, name));
    let defined = definitions(text).into_iter().filter(|defined| is_banned(defined.name));
    module.into_iter().chain(defined.map(|defined| problem(defined.line, defined.name))).collect()
}

/// The module that a file is: its name, or that of its folder.
fn module_name(file: &str) -> Option<&str> {
    let path = file.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.rsplit('/').next()
}

/// Whether a name is a banned word, or a name in camel case that has one as a part.
fn is_banned(name: &str) -> bool {
    let is_in = |list: &str, word: &str| {
        list.split_whitespace().any(|banned| banned.eq_ignore_ascii_case(word))
    };
    if is_in(BANNED_WORDS, name) || is_in(BANNED_ALONE, name) {
        return true;
    }
    let mut rest = name.to_owned();
    for (allowed, _) in ALLOWED {
        rest = rest.replace(allowed, "");
    }
    camel_parts(&rest).any(|part| is_in(BANNED_WORDS, part))
}

/// The parts of a name in camel case; none of another name.
fn camel_parts(name: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<_> = name.match_indices(|c: char| c.is_ascii_uppercase()).collect();
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([name.len()]);
    let parts: Vec<_> =
        starts.iter().zip(ends).map(|((start, _), end)| &name[*start..end]).collect();
    parts.into_iter()
}

/// The definitions of a file, up to its tests.
fn definitions(text: &str) -> Vec<Definition<'_>> {
    let mut found = Vec::new();
    // How far to the right the enum stands whose variants come.
    let mut of_enum = None;
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let is_tests = line == "#[cfg(test)]"
            && lines
                .peek()
                .is_some_and(|(_, next)| next.starts_with("mod ") && next.ends_with('{'));
        if is_tests {
            break;
        }
        let indent = line.len() - line.trim_start().len();
        let words = line.trim_start();
        let name = match of_enum {
            Some(outer) if indent == outer && words.starts_with('}') => {
                of_enum = None;
                None
            }
            Some(outer) => (indent == outer + 4).then(|| variant(words)).flatten(),
            None => {
                let is_enum = item(words, &["enum"]).is_some() && line.ends_with('{');
                of_enum = is_enum.then_some(indent);
                defined_name(words)
            }
        };
        found.extend(name.map(|name| Definition { line: index + 1, name }));
    }
    found
}

/// The variant that a line of an enum begins.
fn variant(line: &str) -> Option<&str> {
    first_name(line).filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The item or public field that a line defines.
fn defined_name(line: &str) -> Option<&str> {
    let always =
        item(line, &["struct", "enum", "trait", "type", "union", "const", "static", "mod"]);
    let public = line.strip_prefix("pub");
    let function = public.and_then(|_| item(line, &["fn"]));
    let field = || {
        let field = public?.strip_prefix(' ')?;
        let (name, _) = field.split_once(": ")?;
        name.chars().all(is_name_char).then_some(name)
    };
    always.or(function).or_else(field)
}

/// The name of the item that a line begins, if it is of one of these kinds.
fn item<'a>(line: &'a str, kinds: &[&str]) -> Option<&'a str> {
    let mut rest = match line.strip_prefix("pub(") {
        Some(scope) => scope.split_once(") ")?.1,
        None => line.strip_prefix("pub ").unwrap_or(line),
    };
    loop {
        let (word, after) = rest.split_once(' ')?;
        if kinds.contains(&word) {
            // `const fn` is a function.
            let name = first_name(after)?;
            return (name != "fn" || word == "fn").then_some(name);
        }
        if !["async", "const", "default", "extern", "\"C\"", "unsafe"].contains(&word) {
            return None;
        }
        rest = after;
    }
}

fn first_name(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_name_char(c)).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        definitions(text)
            .into_iter()
            .map(|defined| defined.name)
            .filter(|name| is_banned(name))
            .collect()
    }

    #[test]
    fn every_kind_of_definition_is_judged() {
        let check = |text: &str, expected: &[&str]| assert_eq!(names(text), expected, "{text}");
        check("pub struct SessionInfo;\n", &[]);
        check("pub(crate) struct Told<T>(T);\nenum Seat {}\n", &["Told", "Seat"]);
        check(
            "struct ToldAnswer;\ntrait PlacedCall {}\ntype OwnMap = ();\n",
            &["ToldAnswer", "PlacedCall", "OwnMap"],
        );
        check(
            "enum Event {\n    /// Why.\n    Asked {\n        Kept: u8,\n    },\n    Said(u8),\n}\n",
            &["Asked", "Said"],
        );
        check("    pub(in crate::a) async fn told(\n", &["told"]);
        check("pub const fn wanted() {\n", &["wanted"]);
        check("const MOST: usize = 1;\nstatic HELD: u8 = 1;\n", &["MOST", "HELD"]);
        check("mod desk;\npub mod bookkeeping;\n", &["desk"]);
        check("    pub kept: bool,\n    pub(crate) held: u8,\n    seen: u8,\n", &["kept"]);
        check("fn told() {\n    let asked = 1;\n", &[]);
        check("enum Error {\n    NotFound,\n    AgentNotFound,\n    Unknown,\n}\n", &[]);
        check("const fn size() {}\n#[cfg(test)]\nmod tests {\n    struct Told;\n", &[]);
    }

    #[test]
    fn the_name_of_a_file_is_judged() {
        let check =
            |file: &str, problems: usize| assert_eq!(check(file, "").len(), problems, "{file}");
        check("crates/hub/src/desk.rs", 1);
        check("crates/hub/src/desk/mod.rs", 1);
        check("crates/hub/src/desk/state.rs", 0);
        check("crates/hub/src/lib.rs", 0);
    }
}
