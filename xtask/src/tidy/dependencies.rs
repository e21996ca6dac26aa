//! The check of crate dependencies: the table in ARCHITECTURE.md against the manifests.
//!
//! Used by `tidy`. It does not look at dependencies of other projects (`deny.toml`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::read;
use crate::failure::{AboutFile as _, Result};

/// The prefix of our packages' names.
const PREFIX: &str = "switchboard-";
/// The plugins of the built-in server, which `cli` embeds. ARCHITECTURE.md mentions them in a
/// sentence.
const PLUGINS: &str = "plugins";

type Dependencies = BTreeMap<String, Vec<String>>;

/// Returns the differences between the page and the manifests.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let plugins = folder_names(&root.join(PLUGINS))?;
    let mut actual = Dependencies::new();
    for name in folder_names(&root.join("crates"))? {
        let manifest = read(&root.join("crates").join(&name).join("Cargo.toml"))?;
        let found = of_manifest(&manifest).into_iter();
        let found =
            found.filter(|name| !plugins.iter().any(|plugin| *name == format!("plugin-{plugin}")));
        actual.insert(name, found.collect());
    }
    Ok(compare(&of_page(&read(&root.join("ARCHITECTURE.md"))?), &actual))
}

fn folder_names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).about("read", folder)?;
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Our packages under `[dependencies]`, without the prefix.
fn of_manifest(manifest: &str) -> Vec<String> {
    let section = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let section = section.take_while(|line| !line.starts_with('['));
    let names = section.filter_map(|line| line.strip_prefix(PREFIX)?.split(['.', ' ', '=']).next());
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// The rows of the table: the crate in the first cell, its dependencies in the second.
fn of_page(page: &str) -> Dependencies {
    let table = page.lines().skip_while(|line| !line.starts_with("| crate | depends on |"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let name = cells.next()?.trim_matches('`').to_owned();
        let listed = cells.next()?.split(',').map(str::trim).filter(|name| !name.is_empty());
        let mut listed: Vec<_> = listed.map(str::to_owned).collect();
        listed.sort_unstable();
        Some((name, listed))
    };
    rows.filter_map(row).collect()
}

fn compare(page: &Dependencies, actual: &Dependencies) -> Vec<String> {
    let missing = actual.keys().filter(|name| !page.contains_key(*name));
    let missing =
        missing.map(|name| format!("ARCHITECTURE.md: the table of crates lacks `{name}`"));
    let wrong = page.iter().filter(|(name, listed)| actual.get(*name) != Some(listed));
    let wrong = wrong.map(|(name, listed)| match actual.get(name) {
        Some(found) => format!(
            "ARCHITECTURE.md: `{name}` depends on [{}], and the table says [{}]",
            found.join(", "),
            listed.join(", ")
        ),
        None => format!("ARCHITECTURE.md: there is no crate `{name}`"),
    });
    missing.chain(wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| crate | depends on | owns |
|---|---|---|
| `wire` | process | x |
| `process` | | y |
";

    fn actual(wire: &[&str]) -> Dependencies {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        [("wire".to_owned(), names(wire)), ("process".to_owned(), names(&[]))].into()
    }

    #[test]
    fn the_page_is_compared_with_the_manifests() {
        assert_eq!(compare(&of_page(PAGE), &actual(&["process"])), [""; 0]);
        assert_eq!(compare(&of_page(PAGE), &actual(&[])).len(), 1);
        let mut more = actual(&["process"]);
        more.insert("hub".to_owned(), Vec::new());
        assert_eq!(
            compare(&of_page(PAGE), &more),
            ["ARCHITECTURE.md: the table of crates lacks `hub`"]
        );
    }

    #[test]
    fn only_our_own_dependencies_count() {
        let manifest = "[dependencies]\nserde = \"1\"\nswitchboard-wire.workspace = true\n\n\
                        [dev-dependencies]\nswitchboard-testkit.workspace = true\n";
        assert_eq!(of_manifest(manifest), ["wire"]);
    }
}
