//! Tests that the reference pages name what the program has: scopes, variables, hints, metrics, files, admin routes. The pages of
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

/// The words in backquotes outside of code blocks.
fn quoted_words(text: &str) -> BTreeSet<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// The entries of the state folder after a few ordinary commands.
#[test]
fn every_file_that_commands_leave_is_documented() {
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

/// Files of other programs, which `import`, `install` and `inherit` read, and a recorded answer for tests.
const FOREIGN_FILES: [&str; 4] = [".claude.json", "config.json", "fixture.json", "mcp.json"];

#[test]
fn every_file_in_the_sources_is_documented() {
    let crates =
        ["auth", "cli", "config", "core", "gateway", "hub", "plugin", "process", "sources"];
    let is_file = |text: &str| {
        let stem = [".json", ".jsonl", ".key"].iter().find_map(|end| text.strip_suffix(end));
        let is_name = |stem: &str| stem.chars().all(|c| c.is_ascii_lowercase() || ".-".contains(c));
        stem.is_some_and(|stem| !stem.is_empty() && is_name(stem))
    };
    let mut expected = literals(&crates, is_file);
    expected.retain(|name| !FOREIGN_FILES.contains(&name.as_str()));
    expected.extend(entries_of_state(&crates));
    for known in ["eras.json", "setup.json", "secrets.json", "settings.json", "results"] {
        assert!(expected.contains(known), "{known} is not found in the sources");
    }
    let page = page("docs/reference/files.md");
    let documented: BTreeSet<_> = quoted_words(&page)
        .into_iter()
        .map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default())
        .collect();
    let missing: Vec<_> =
        expected.iter().filter(|name| !documented.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/reference/files.md does not name {missing:?}");
}

/// The names that the sources join to the state folder, without locks.
fn entries_of_state(crates: &[&str]) -> BTreeSet<String> {
    let mut texts = Vec::new();
    for name in crates {
        sources(&root().join("crates").join(name).join("src"), &mut texts);
    }
    let joins = |text: &str| {
        let folders = ["state.join(\"", "state_dir.join(\""];
        let parts = folders.iter().flat_map(|folder| text.split(*folder).skip(1));
        let names = parts.filter_map(|rest| rest.split('"').next());
        names.map(|name| name.split('/').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let names = texts.iter().flat_map(|text| joins(text));
    let is_lock = |name: &String| Path::new(name).extension().is_some_and(|kind| kind == "lock");
    names.filter(|name| !is_lock(name)).collect()
}

/// A method and the segments of a path. A segment in braces stands for any.
type Route = (String, Vec<String>);

/// The routes of the admin API, from the source that registers them.
fn admin_routes() -> Vec<Route> {
    let source = page("crates/hub/src/admin/routes.rs");
    let table = source.split_once("let api = Router::new()").unwrap().1;
    let table = table.split_once(".with_state").unwrap().0;
    let mut routes = Vec::new();
    for registered in table.split(".route(").skip(1) {
        let (path, handlers) =
            registered.split('"').nth(1).zip(registered.split_once("\",")).unwrap();
        for method in ["get", "post", "put", "delete"] {
            let called = [format!(" {method}("), format!(".{method}(")];
            if called.iter().any(|call| handlers.1.contains(call)) {
                routes.push((method.to_uppercase(), segments(path)));
            }
        }
    }
    routes
}

/// The methods and paths on the page of the admin API. An ellipsis leaves the beginning of a path out.
fn documented_routes(page: &str) -> Vec<Route> {
    let words: Vec<_> = page.split(|c: char| c.is_whitespace() || c == '`').collect();
    let pair = |pair: &[&str]| {
        let is_method = ["GET", "POST", "PUT", "DELETE"].contains(&pair[0]);
        let path = pair[1].split('?').next().unwrap_or_default().trim_end_matches([',', '.', ';']);
        let path =
            path.strip_prefix("/api/v1").or_else(|| path.starts_with('…').then_some(path))?;
        is_method.then(|| (pair[0].to_owned(), segments(path)))
    };
    words.windows(2).filter_map(pair).collect()
}

fn segments(path: &str) -> Vec<String> {
    path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

/// Whether a documented route means this one.
fn means(documented: &Route, route: &Route) -> bool {
    let same = |(given, known): (&String, &String)| given == known || known.starts_with('{');
    let (given, known) = (&documented.1, &route.1);
    documented.0 == route.0
        && match given.split_first() {
            Some((first, rest)) if first == "…" => {
                rest.len() <= known.len() && rest.iter().rev().zip(known.iter().rev()).all(same)
            }
            _ => given.len() == known.len() && given.iter().zip(known).all(same),
        }
}

#[test]
fn every_route_of_the_admin_api_is_documented() {
    let routes = admin_routes();
    assert!(routes.len() > 40, "{}", routes.len());
    let documented = documented_routes(&page("docs/reference/admin.md"));
    let missing: Vec<_> = routes
        .iter()
        .filter(|route| !documented.iter().any(|documented| means(documented, route)))
        .collect();
    assert!(missing.is_empty(), "docs/reference/admin.md does not show {missing:?}");
    let unknown: Vec<_> = documented
        .iter()
        .filter(|documented| !routes.iter().any(|route| means(documented, route)))
        .collect();
    assert!(unknown.is_empty(), "no route answers {unknown:?}");
}
