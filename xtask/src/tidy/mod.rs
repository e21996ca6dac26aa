//! `cargo xtask tidy`: rules about the repository that need no other tool.
//!
//! Used by `cargo xtask test`. Few packages, short documents, nothing unfinished, lock files without download
//! addresses; the crates' dependencies as ARCHITECTURE.md lists them ([`dependencies`]), the files
//! ([`architecture`]) and the items ([`items`]) that it names; the figures of docs/performance.md ([`performance`]);
//! headers, sizes and layout of source files ([`source`]), their names ([`names`]) and locks ([`locks`]), and the modules
//! that headers name ([`headers`]); long functions and copies of functions ([`functions`]); fixes without a reason
//! ([`commits`]). It does not judge behaviour.

mod architecture;
mod commits;
mod dependencies;
mod functions;
mod headers;
mod items;
mod locks;
mod names;
mod performance;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::output;
use crate::failure::{AboutFile, Failure, Result};
use crate::paths;

const MAX_PACKAGES: usize = 400;

/// Documents, and the most lines of each.
const DOCUMENTS: [(&str, usize); 3] =
    [("README.md", 150), ("ARCHITECTURE.md", 300), ("CONTRIBUTING.md", 150)];

/// Texts that no file may contain. Split, so that this file does not.
const MARKERS: [&str; 5] = [
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
    concat!("FIX", "ME"),
    concat!("<<<<", "<<< "),
];

pub(crate) fn check() -> Result<()> {
    let root = paths::root();
    let mut problems = Vec::new();
    problems.extend(too_many_packages(&read(&root.join("Cargo.lock"))?));
    for (name, most) in DOCUMENTS {
        problems.extend(document(&root, name, most));
    }
    problems.extend(dependencies::check(&root)?);
    problems.extend(commits::check(&root)?);
    let files = tracked_files(&root)?;
    problems.extend(architecture::check(&root, &files)?);
    problems.extend(performance::check(&read(&root.join(performance::DOCUMENT))?));
    let mut bodies = functions::FunctionBodies::default();
    let mut defined = items::DefinedItems::default();
    let mut headers = headers::HeaderNames::default();
    for file in &files {
        // A removed file is listed until the removal is committed.
        if let Ok(bytes) = fs::read(root.join(file)) {
            let text = String::from_utf8_lossy(&bytes);
            problems.extend(content(file, &text));
            problems.extend(source::check(&root, file, &text));
            if source::lacks_header_form(file, &text) {
                problems.push(format!(
                    "{file}:1: the header says neither `Used by …` nor `It does not …`; say who uses the module"
                ));
            }
            if source::is_product_source(file) {
                bodies.add(file, &text);
                defined.add(&text);
                headers.add(file, &text);
            }
        }
    }
    problems.extend(bodies.duplicates());
    problems.extend(headers.missing(&files, &defined));
    for name in items::DOCUMENTS {
        problems.extend(defined.undefined(name, &read(&root.join(name))?));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let list = problems.join("\n  ");
    Err(Failure::new(format!("the repository breaks its own rules:\n  {list}")))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).about("read", path)
}

/// Every file once: git lists a file with a merge conflict three times.
fn tracked_files(root: &Path) -> Result<BTreeSet<String>> {
    let flags = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let list = output(Command::new("git").args(flags).current_dir(root))?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}

fn too_many_packages(lock: &str) -> Option<String> {
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    (packages >= MAX_PACKAGES).then(|| {
        format!("Cargo.lock has {packages} packages; fewer than {MAX_PACKAGES} are allowed")
    })
}

fn document(root: &Path, name: &str, most: usize) -> Option<String> {
    match fs::read_to_string(root.join(name)) {
        Ok(text) => too_long(name, &text, most),
        Err(why) => Some(format!("{name} cannot be read: {why}")),
    }
}

fn too_long(name: &str, text: &str, most: usize) -> Option<String> {
    let lines = text.lines().count();
    (lines > most).then(|| format!("{name} has {lines} lines; at most {most} are allowed"))
}

fn content(file: &str, text: &str) -> Vec<String> {
    let unfinished = text.lines().enumerate().flat_map(|(index, line)| {
        let found = MARKERS.iter().filter(move |marker| line.contains(*marker));
        found.map(move |marker| format!("{file}:{}: `{}`", index + 1, marker.trim_end()))
    });
    let addresses = file.ends_with("package-lock.json") && text.contains("\"resolved\"");
    let addresses = addresses.then(|| {
        format!("{file} records download addresses; make it with --omit-lockfile-registry-resolved")
    });
    unfinished.chain(addresses).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_where_they_stand() {
        let text = format!("fn main() {{\n    {})\n}}\n", MARKERS[0]);
        assert_eq!(content("src/main.rs", &text), [format!("src/main.rs:2: `{}`", MARKERS[0])]);
        assert!(content("src/main.rs", "fn main() {}").is_empty());
    }

    #[test]
    fn npm_lock_files_name_no_host() {
        let text = r#"{ "resolved": "somewhere" }"#;
        assert_eq!(content("npm/package-lock.json", text).len(), 1);
        assert!(content("notes.json", text).is_empty());
    }

    #[test]
    fn limits_are_inclusive() {
        assert!(too_long("README.md", "a\nb\n", 2).is_none());
        assert!(too_long("README.md", "a\nb\nc\n", 2).is_some());
        assert!(too_many_packages(&"[[package]]\n".repeat(399)).is_none());
        assert!(too_many_packages(&"[[package]]\n".repeat(400)).is_some());
    }
}
