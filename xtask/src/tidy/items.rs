//! The check of items that documents name: types, variants and functions in backticks exist in the product's source.
//!
//! Used by `cargo xtask tidy`. [`super::architecture`] checks the files and modules. It does not read fenced text.

use std::collections::BTreeSet;

/// The words before the name of an item.
const KINDS: [&str; 6] = ["const", "enum", "fn", "struct", "trait", "type"];

/// The documents that are checked.
pub(super) const DOCUMENTS: [&str; 2] = ["ARCHITECTURE.md", "docs/glossary.md"];

/// The names of items and variants that source files define.
#[derive(Default)]
pub(super) struct DefinedItems(BTreeSet<String>);

// === impl DefinedItems ===

impl DefinedItems {
    /// Adds the items of a source file.
    pub(super) fn add(&mut self, text: &str) {
        for line in text.lines().map(str::trim_start) {
            let words: Vec<_> = line.split(|c| !is_name_char(c)).collect();
            let items =
                words.windows(2).filter(|pair| KINDS.contains(&pair[0])).map(|pair| pair[1]);
            let variant = words.first().copied().filter(|word| begins_upper(word));
            self.0.extend(items.chain(variant).map(str::to_owned));
        }
    }

    /// Whether an item or a variant has this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Returns the problems of a document.
    pub(super) fn undefined(&self, file: &str, text: &str) -> Vec<String> {
        let prose = text.split("```").step_by(2);
        let named = prose.flat_map(|part| part.split('`').skip(1).step_by(2)).filter(is_item);
        let missing = named.filter(|name| !name.split("::").all(|part| self.contains(part)));
        missing.map(|name| format!("{file}: there is no item `{name}`")).collect()
    }
}

/// Whether a text between backticks names an item: `Exchange`, `Exchange::next`.
fn is_item(span: &&str) -> bool {
    let has_lower = span.chars().any(char::is_lowercase);
    begins_upper(span) && has_lower && span.split("::").all(|part| part.chars().all(is_name_char))
}

fn begins_upper(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_documents_exist() {
        let mut items = DefinedItems::default();
        items.add("pub struct Exchange {\n    pub(crate) fn next(&self) {}\nenum Event {\n    Done(Raw),\n}\n");
        let check = |text: &str, problems: usize| {
            assert_eq!(items.undefined("a.md", text).len(), problems, "{text}");
        };
        check("`Exchange`, `Exchange::next`, `Event::Done`", 0);
        check("`Exchange::resume`", 1);
        check("`Attribution`", 1);
        check("`RLIMIT_LOCKS`, `tools/call`, `Content-Type`, `cargo xtask`", 0);
        check("```\n`Attribution`\n```", 0);
    }
}
