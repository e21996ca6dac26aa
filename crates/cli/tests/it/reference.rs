//! Tests that the reference pages name what the program has: scopes, variables, hints, metrics, files. The pages of
//! commands, settings and JSON have tests in `docs` and in `config`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchboard_config::Scope;

use crate::Story;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The words in backquotes in the first column of the tables in `text`.
fn first_column(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" |").next());
    let words =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    cells.flat_map(words).collect()
}

/// The part of a page between two marks.
fn marked<'p>(page: &'p str, mark: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!("<!-- {mark} -->")).expect(mark);
    rest.split_once(&format!("<!-- /{mark} -->")).expect(mark).0
}

/// The Rust sources of a crate, without their tests.
fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let own = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            texts.push(own.to_owned());
        }
    }
}

/// The string literals in the sources of these crates for which `is_meant`.
fn literals(crates: &[&str], is_meant: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut texts = Vec::new();
    for name in crates {
        sources(&root().join("crates").join(name).join("src"), &mut texts);
    }
    let all = texts.iter().flat_map(|text| text.split('"'));
    all.filter(|text| is_meant(text)).map(str::to_owned).collect()
}

#[test]
fn scopes_have_one_number_and_one_name() {
    let mut expected: Vec<_> = [
        Scope::Connectors,
        Scope::Plugin,
        Scope::Inherited,
        Scope::User,
        Scope::Project,
        Scope::Local,
        Scope::Dynamic,
        Scope::Agent,
        Scope::Enterprise,
    ]
    .map(Scope::name)
    .to_vec();
    let listed = |text: &str| {
        let list = format!("`{}`", expected.join("`, `"));
        text.replace('\n', " ").contains(&list)
    };
    for name in ["README.md", "docs/glossary.md", "docs/reference/json.md"] {
        assert!(listed(&page(name)), "{name} does not list the scopes in their order");
    }
    assert!(page("README.md").contains("nine [scopes]"));
    expected.reverse();
    let scopes = page("docs/features/scopes.md");
    let rows = marked(&scopes, "scopes").lines().filter_map(|line| line.strip_prefix("| `"));
    let found: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_variable_is_documented() {
    let is_variable = |text: &str| {
        let prefixes = ["SWITCHBOARD_", "MCP_", "MAX_MCP_", "CLAUDE_", "CODEX_"];
        prefixes.iter().any(|prefix| text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
            && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    let crates =
        ["auth", "cli", "config", "core", "gateway", "hub", "plugin", "process", "sources", "wire"];
    let page = page("docs/reference/environment.md");
    let tables = ["read", "numbers", "set"].map(|mark| marked(&page, mark)).concat();
    let documented = first_column(&tables).into_iter().filter(|name| is_variable(name));
    assert_eq!(documented.collect::<BTreeSet<_>>(), literals(&crates, is_variable));
}

#[test]
fn every_hint_of_servers_is_documented() {
    let is_hint = |text: &str| {
        let key = text.strip_prefix("anthropic/").or_else(|| text.strip_prefix("openai/"));
        key.is_some_and(|key| key.chars().all(char::is_alphanumeric))
    };
    let documented = first_column(&page("docs/reference/meta.md"));
    let documented = documented.into_iter().filter(|key| is_hint(key)).collect::<BTreeSet<_>>();
    assert_eq!(documented, literals(&["core", "gateway"], is_hint));
}

/// The answer to a GET, with its headers.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn every_metric_is_documented() {
    let story = Story::new();
    let mut serve = story.command(&["serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut serve = serve.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(serve.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let shown = get(ready["address"].as_str().unwrap(), "/metrics");
    serve.kill().unwrap();
    serve.wait().unwrap();
    let families = shown.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let reasons =
        shown.lines().filter_map(|line| line.split("reason=\"").nth(1)?.split('"').next());
    let exist: BTreeSet<_> = families.chain(reasons).map(str::to_owned).collect();
    let documented = first_column(&page("docs/reference/metrics.md"));
    let is_name = |name: &String| !matches!(name.as_str(), "reason" | "transport");
    assert_eq!(documented.into_iter().filter(is_name).collect::<BTreeSet<_>>(), exist);
}

/// What a few ordinary commands leave in state is on the page, and so is every file in the sources.
#[test]
fn every_file_of_state_is_documented() {
    let story = Story::new();
    story.write(".mcp.json", r#"{"mcpServers": {"a": {"command": "true"}}}"#);
    let builtin = env!("CARGO_BIN_EXE_switchboard");
    story.quietly(&["add", "hello", builtin, "builtin"]);
    for args in [
        &["approve", "a"][..],
        &["list"],
        &["call", "hello/echo", "text=x"],
        &["token", "create", "--name", "x"],
        &["status"],
    ] {
        story.quietly(args);
    }
    let documented = first_column(&page("docs/reference/files.md"));
    let state = story.home.path().join(".local/state/switchboard");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(state).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let name = if entry.path().is_dir() { format!("{name}/") } else { name };
        // A lock stands beside what it locks.
        if Path::new(&name).extension().is_none_or(|extension| extension != "lock") {
            found.insert(name);
        }
    }
    assert!(found.len() > 3, "{found:?}");
    let missing: Vec<_> = found.iter().filter(|name| !documented.contains(name)).collect();
    assert!(missing.is_empty(), "docs/reference/files.md does not name {missing:?}");
}
