//! Tests of addresses in documents, schemas, manifests, templates and pages: each was reviewed and opens, or cannot be
//! taken for a real one. A dead link is a dead end, and an unowned name may belong to anyone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a reader or a build may follow.
const FOLDERS: &[&str] = &["docs", "crates", "plugins", "xtask", "fuzz", "tests/conformance"];
const ENDINGS: &[&str] = &["md", "toml", "json", "in", "html", "js", "css", "svg", "h"];
/// Recorded answers and generated inputs. Their addresses belong to tests.
const SKIPPED: &[&str] = &["snapshots", "seeds", "target", "node_modules", "artifacts", "corpus"];

/// Hosts outside of this machine and of the domains that are reserved for examples, each looked at by a person.
const REVIEWED: &[&str] = &[
    "json-schema.org",    // the dialect that a schema names
    "www.w3.org",         // the namespace of SVG
    "mcp.sentry.dev",     // a public server, in an example of `add`
    "github.com",         // the specification of MCP Apps
    "www.rfc-editor.org", // the definition of JSON Pointer
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !SKIPPED.contains(&name) {
                    folders.push(path);
                }
            } else if is_read(&path) {
                found.push(path);
            }
        }
    }
    let top = fs::read_dir(root()).unwrap().map(|file| file.unwrap().path());
    found.extend(top.filter(|path| path.is_file() && is_read(path)));
    found
}

fn is_read(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.contains(&ending.to_str().unwrap()))
}

/// The hosts of all addresses in a text. A placeholder (`https://…`, `https://${HOST}/`) has none.
fn hosts(text: &str) -> BTreeSet<&str> {
    let after = text.split("http").skip(1);
    let after = after.filter_map(|rest| rest.strip_prefix("s://").or(rest.strip_prefix("://")));
    let authority = after.map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.*@:[]".contains(c)));
        &rest[..end.unwrap_or(rest.len())]
    });
    let host = authority.map(|authority| {
        let host = authority.rsplit('@').next().unwrap_or_default();
        if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() }
    });
    host.map(|host| host.trim_end_matches('.')).filter(|host| host.contains(['.', '['])).collect()
}

/// This machine, and the names that RFC 2606 reserves.
fn is_reserved(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    host.starts_with("127.")
        || host.starts_with("[::1]")
        || ["example", "invalid", "test", "localhost"].contains(&last)
        || ["example.com", "example.org", "example.net"].iter().any(|name| {
            host.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        })
}

#[test]
fn every_address_was_reviewed() {
    let mut unknown = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let files = files();
    assert!(files.len() > 40, "{files:?}");
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        for host in hosts(&text).into_iter().filter(|host| !is_reserved(host)) {
            match REVIEWED.iter().find(|reviewed| **reviewed == host) {
                Some(reviewed) => _ = seen.insert(*reviewed),
                None => _ = unknown.insert(format!("{host} in {}", path.display())),
            }
        }
    }
    assert!(unknown.is_empty(), "open each, then add its host to `REVIEWED`: {unknown:#?}");
    assert_eq!(seen, REVIEWED.iter().copied().collect(), "a reviewed host is used no more");
}

#[test]
fn hosts_are_found() {
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(hosts(text), expected.iter().copied().collect(), "{text}");
    };
    check("see https://forge.test/a and <http://b.test>.", &["forge.test", "b.test"]);
    check(r#"repository = "https://forge.test/x""#, &["forge.test"]);
    check("https://user:word@c.test:80/d http://[::1]:1/", &["c.test", "[::1]:1"]);
    check("https://… https://${HOST}/mcp https:// http://localhost:8000", &[]);
}

/// A link in a document to another file of this repository, without its anchor.
fn relative_links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.filter(|target| !target.contains("://") && !target.contains(' '));
    targets.filter_map(|target| target.split('#').next()).filter(|target| !target.is_empty())
}

#[test]
fn every_relative_link_opens_a_file() {
    let mut broken = Vec::new();
    let mut count = 0;
    for path in files().iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(path).unwrap();
        for target in relative_links(&text) {
            count += 1;
            if !path.parent().unwrap().join(target).exists() {
                broken.push(format!("{target} in {}", path.display()));
            }
        }
    }
    assert!(count > 20, "{count}");
    assert!(broken.is_empty(), "{broken:#?}");
}
