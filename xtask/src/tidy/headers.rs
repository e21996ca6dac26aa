//! The check of names in module headers: a module of another crate that a header names exists.
//!
//! Used by `cargo xtask tidy`, so that *used by* stays true when modules move. It does not check names without their
//! crate.

use std::collections::BTreeSet;

use super::items::DefinedItems;

/// The modules and functions that headers name with their crate, such as `hub::access`.
#[derive(Default)]
pub(super) struct HeaderNames(Vec<(String, String)>);

// === impl HeaderNames ===

impl HeaderNames {
    /// Adds the names in the header of a source file.
    pub(super) fn add(&mut self, file: &str, text: &str) {
        let header = text.lines().take_while(|line| line.starts_with("//!"));
        let spans = header.flat_map(|line| line.split('`').skip(1).step_by(2));
        let names = spans.filter(|span| is_path(span));
        self.0.extend(names.map(|name| (file.to_owned(), name.to_owned())));
    }

    /// Returns the names that stand for nothing.
    pub(super) fn missing(&self, files: &BTreeSet<String>, defined: &DefinedItems) -> Vec<String> {
        let missing = self.0.iter().filter(|(_, name)| !exists(name, files, defined));
        missing
            .map(|(file, name)| format!("{file}: the header names `{name}`, which is gone"))
            .collect()
    }
}

fn is_path(span: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
    };
    span.contains("::") && span.split("::").all(is_name)
}

/// Whether a path is a module of its crate, or a function in one. A path that begins with no crate is not checked.
fn exists(name: &str, files: &BTreeSet<String>, defined: &DefinedItems) -> bool {
    let Some((krate, path)) = name.split_once("::") else { return true };
    let root = format!("crates/{}/src/", krate.replace('_', "-"));
    let sources: Vec<_> = files.iter().filter_map(|file| file.strip_prefix(&root)).collect();
    let is_module = |path: &str| {
        let path = path.replace("::", "/");
        sources.iter().any(|file| {
            let file = format!("/{file}");
            file.ends_with(&format!("/{path}.rs")) || file.contains(&format!("/{path}/"))
        })
    };
    let (parent, item) =
        path.rsplit_once("::").map_or((None, path), |(parent, item)| (Some(parent), item));
    sources.is_empty()
        || is_module(path)
        || (parent.is_none_or(is_module) && defined.contains(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_headers_exist() {
        let files = ["crates/hub/src/access/mod.rs", "crates/cli/src/hint.rs"];
        let files: BTreeSet<_> = files.map(str::to_owned).into();
        let mut defined = DefinedItems::default();
        defined.add("pub fn no_server() {}\n");
        let check = |span: &str, problems: usize| {
            let mut names = HeaderNames::default();
            names.add("a.rs", &format!("//! Used by `{span}`.\n\n// `cli::gone`\n"));
            assert_eq!(names.missing(&files, &defined).len(), problems, "{span}");
        };
        check("hub::access", 0);
        check("cli::access", 1);
        check("cli::hint::no_server", 0);
        check("cli::hint::gone", 1);
        check("dispatch::gone", 0);
        check("switchboard status", 0);
    }
}
