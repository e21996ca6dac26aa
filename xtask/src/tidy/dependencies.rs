//! The check of crate dependencies: the table in ARCHITECTURE.md against the manifests, as cargo reads them.
//!
//! Used by `tidy`. It does not look at dependencies of tests, nor at those of other projects (`deny.toml`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::read;
use crate::command::{cargo, output};
use crate::failure::{AboutFile as _, Result};

/// The folder of the packages that the table lists.
const CRATES: &str = "crates";

type Dependencies = BTreeMap<String, Vec<String>>;

/// Returns the differences between the page and the manifests.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let metadata = output(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let actual = of_metadata(&metadata).about("read", &root.join("Cargo.toml"))?;
    Ok(compare(&of_page(&read(&root.join("ARCHITECTURE.md"))?), &actual))
}

/// The packages in the folder of crates, by folder, each with those that it needs outside of tests, whatever the target, the
/// form or the name in its manifest. The plugins of the built-in server, which `cli` embeds, are in a sentence of the page.
fn of_metadata(metadata: &str) -> std::io::Result<Dependencies> {
    let metadata: Value = serde_json::from_str(metadata)?;
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let folder = |path: &Value| crate_folder(path.as_str()?);
    let found = packages().filter_map(|package| {
        let manifest = package["manifest_path"].as_str()?.strip_suffix("/Cargo.toml")?;
        let name = crate_folder(manifest)?;
        let needed = package["dependencies"].as_array().into_iter().flatten();
        let needed = needed.filter(|needed| needed["kind"] != "dev");
        let mut needed: Vec<_> = needed.filter_map(|needed| folder(&needed["path"])).collect();
        needed.sort_unstable();
        needed.dedup();
        Some((name, needed))
    });
    Ok(found.collect())
}

/// The name of a crate's folder; `None` for a folder elsewhere.
fn crate_folder(path: &str) -> Option<String> {
    let (parent, name) = path.rsplit_once('/')?;
    let is_crate = parent.rsplit('/').next() == Some(CRATES);
    is_crate.then(|| name.to_owned())
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
    fn every_form_of_a_dependency_counts() {
        let metadata = serde_json::json!({ "packages": [
            { "manifest_path": "/r/crates/core/Cargo.toml", "dependencies": [
                { "name": "serde", "kind": null },
                { "name": "switchboard-wire", "kind": null, "path": "/r/crates/wire" },
                { "name": "switchboard-hub", "kind": "build", "path": "/r/crates/hub" },
                { "name": "switchboard-auth", "kind": null, "rename": "a", "path": "/r/crates/auth" },
                { "name": "switchboard-process", "target": "cfg(unix)", "path": "/r/crates/process" },
                { "name": "switchboard-testkit", "kind": "dev", "path": "/r/crates/testkit" },
                { "name": "switchboard-plugin-hello", "kind": null, "path": "/r/plugins/hello" },
            ] },
            { "manifest_path": "/r/plugins/hello/Cargo.toml", "dependencies": [] },
        ] });
        let found = of_metadata(&metadata.to_string()).unwrap();
        let expected = ["auth", "hub", "process", "wire"].map(str::to_owned).to_vec();
        assert_eq!(found, [("core".to_owned(), expected)].into());
    }
}
