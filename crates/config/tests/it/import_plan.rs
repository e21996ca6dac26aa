//! Tests of the plan of an import: files of clients and of ours, then what is added and what is skipped.

use std::fmt::Write as _;

use switchboard_config::import::{ClientApp, ClientFileOwner, ImportPlan, ImportSkipReason};
use switchboard_config::{OnExistingEntry, Scope};

use crate::case::{LOCKED_SECRET, World};

/// What a plan would do, one line for each server. Paths begin at the folder of the world.
fn render(plan: &ImportPlan, world: &World) -> String {
    let folder = world.surroundings.home.parent().unwrap().display().to_string() + "/";
    let mut text = String::new();
    for planned in &plan.add {
        let client = planned.candidate.client;
        let _ = writeln!(
            text,
            "add {} ({client}, {}) from {}",
            planned.name, planned.scope, planned.candidate.at
        );
    }
    for skipped in &plan.skip {
        let equal = match &skipped.reason {
            ImportSkipReason::Same(same) => format!(" at {}", same.at),
            _ => String::new(),
        };
        let candidate = &skipped.candidate;
        let _ = writeln!(
            text,
            "skip {} ({}): {}{equal}",
            candidate.name, candidate.client, skipped.reason
        );
    }
    text.replace(&folder, "")
}

fn plan(world: &World, clients: &[ClientApp], scope: Option<Scope>) -> String {
    let workspace = world.workspace();
    let read = workspace.read_client_files(clients, ClientFileOwner::User);
    render(&workspace.plan_import(read, scope), world)
}

fn servers(entries: &str) -> String {
    format!("{{\"mcpServers\": {{{entries}}}}}")
}

#[test]
fn a_plan_skips_what_is_here_and_finds_free_names() {
    let world = World::new();
    world.write(
        "config/settings.json",
        &servers(r#""mine": {"command": "same"}, "taken": {"command": "other"}, "later": {"command": "${NOT_SET}"}"#),
    );
    world.write(
        "home/.config/Claude/claude_desktop_config.json",
        &servers(
            r#""theirs": {"command": "same"}, "taken": {"command": "new"}, "My Server!": {"command": "x"},
            "bad": {"timeout": 5}, "twice": {"command": "new"}, "later": {"command": "${NOT_SET}"},
            "us": {"command": "/bin/switchboard", "args": ["connect"]}"#,
        ),
    );
    assert_eq!(
        plan(&world, &[ClientApp::ClaudeDesktop], None),
        "\
add taken-2 (claude-desktop, user) from home/.config/Claude/claude_desktop_config.json:1:48
add My_Server_ (claude-desktop, user) from home/.config/Claude/claude_desktop_config.json:1:77
skip theirs (claude-desktop): it is the same server as `mine` at config/settings.json:1:17
skip bad (claude-desktop): its entry is not usable
skip twice (claude-desktop): it is the same server as `taken-2` at home/.config/Claude/claude_desktop_config.json:1:48
skip later (claude-desktop): it is the same server as `later` at config/settings.json:1:77
skip us (claude-desktop): it is this program
"
    );
}

/// Entries that differ in one thing each; none of them is the same as another.
#[test]
fn entries_are_the_same_only_if_everything_is() {
    let different = [
        r#"{"command": "x"}"#,
        r#"{"command": "x", "args": ["a"]}"#,
        r#"{"command": "x", "args": ["a", ""]}"#,
        r#"{"command": "x", "env": {"A": "1"}}"#,
        r#"{"command": "x", "env": {"A": "2"}}"#,
        r#"{"command": "x", "env": {"A": "${ONE}"}}"#,
        r#"{"command": "x", "cwd": "/d"}"#,
        r#"{"command": "x", "envFile": "/f"}"#,
        r#"{"command": "x", "timeout": 5000}"#,
        r#"{"command": "x", "disabled": true}"#,
        r#"{"command": "x", "tools": {"allow": ["a"]}}"#,
        r#"{"command": "x", "tools": {"allow": []}}"#,
        r#"{"command": "x", "tools": {"deny": ["a"]}}"#,
        r#"{"type": "http", "url": "https://a.example/mcp"}"#,
        r#"{"type": "sse", "url": "https://a.example/mcp"}"#,
        r#"{"type": "http", "url": "https://a.example/mcp", "headers": {"X-Account": "work"}}"#,
        r#"{"type": "http", "url": "https://a.example/mcp", "headers": {"X-Account": "home"}}"#,
        r#"{"type": "http", "url": "https://a.example/mcp", "headersHelper": "h"}"#,
        r#"{"type": "http", "url": "https://a.example/mcp", "oauth": {"clientId": "c"}}"#,
        r#"{"type": "http", "url": "https://a.example/mcp", "alwaysLoad": true}"#,
        r#"{"type": "http", "url": "https://a.example/mcp?team=1"}"#,
    ];
    let world = World::new();
    let entries: Vec<_> = different
        .iter()
        .enumerate()
        .map(|(index, entry)| format!("\"s{index}\": {entry}"))
        .collect();
    world.write("home/.claude.json", &servers(&entries.join(", ")));
    let plan = plan(&world, &[ClientApp::ClaudeCode], None);
    assert_eq!(
        plan.lines().filter(|line| line.starts_with("add ")).count(),
        different.len(),
        "{plan}"
    );
}

/// Pairs of entries in two clients that mean the same.
#[test]
fn spellings_do_not_make_another_server() {
    for (one, other) in [
        (
            r#"{"type": "http", "url": "https://A.example:443/mcp/", "headers": {"X-Key": "k"}}"#,
            r#"{"url": "https://a.example/mcp", "headers": {"x-key": "k"}}"#,
        ),
        (
            r#"{"command": "x", "env": {"A": "${KEY}", "B": "1"}}"#,
            r#"{"command": "x", "args": [], "env": {"B": "1", "A": "${env:KEY}"}}"#,
        ),
        (r#"{"type": "stdio", "command": "${HOME}/bin/x"}"#, r#"{"command": "${userHome}/bin/x"}"#),
    ] {
        let world = World::new();
        world.write("home/.claude.json", &servers(&format!("\"one\": {one}")));
        world.write("home/.cursor/mcp.json", &servers(&format!("\"other\": {other}")));
        let plan = plan(&world, &[ClientApp::Cursor, ClientApp::ClaudeCode], None);
        let expected = "\
add one (claude-code, user) from home/.claude.json:1:17
skip other (cursor): it is the same server as `one` at home/.claude.json:1:17
";
        assert_eq!(plan, expected, "{one} and {other}");
    }
}

#[test]
fn a_plan_does_not_depend_on_the_order_of_clients() {
    let world = World::new();
    world.write(
        "home/.claude.json",
        &servers(r#""gh": {"command": "gh", "env": {"T": "1"}}, "fs": {"command": "fs"}"#),
    );
    world.write(
        "home/.cursor/mcp.json",
        &servers(r#""gh": {"command": "gh", "env": {"T": "2"}}, "files": {"command": "fs"}"#),
    );
    world.write(
        "home/.codex/config.toml",
        "[mcp_servers.gh]\ncommand = \"gh\"\nenv = { T = \"1\" }\n[mcp_servers.bad]\nurl = 5\n",
    );
    let mut clients = [ClientApp::ClaudeCode, ClientApp::Cursor, ClientApp::Codex];
    let expected = "\
add gh (claude-code, user) from home/.claude.json:1:17
add fs (claude-code, user) from home/.claude.json:1:61
add gh-2 (cursor, user) from home/.cursor/mcp.json:1:17
skip files (cursor): it is the same server as `fs` at home/.claude.json:1:61
skip gh (codex): it is the same server as `gh` at home/.claude.json:1:17
skip bad (codex): its entry is not usable
";
    for _ in 0..3 {
        assert_eq!(plan(&world, &clients, None), expected);
        clients.rotate_left(1);
    }
    clients.reverse();
    assert_eq!(plan(&world, &clients, None), expected);
}

/// What a project brings, approved or not, has no say in what goes to the user scope.
#[test]
fn a_plan_for_the_user_scope_does_not_depend_on_the_folder() {
    let mut world = World::new();
    world.write(
        "home/.claude.json",
        &servers(r#""gh": {"command": "gh"}, "own": {"command": "own"}"#),
    );
    world.write("config/settings.json", &servers(r#""own": {"command": "own"}"#));
    world.write(
        "home/project/.mcp.json",
        &servers(r#""gh": {"command": "gh"}, "own": {"command": "evil"}"#),
    );
    let expected = "\
add gh (claude-code, user) from home/.claude.json:1:17
skip own (claude-code): it is the same server as `own` at config/settings.json:1:17
";
    assert_eq!(plan(&world, &[ClientApp::ClaudeCode], None), expected);
    let workspace = world.workspace();
    workspace
        .add(Scope::Local, "gh", &serde_json::json!({ "command": "gh" }), OnExistingEntry::Keep)
        .unwrap();
    workspace
        .add(Scope::Local, "own", &serde_json::json!({ "command": "z" }), OnExistingEntry::Keep)
        .unwrap();
    assert_eq!(plan(&world, &[ClientApp::ClaudeCode], None), expected);
    world.surroundings.cwd = world.surroundings.home.clone();
    assert_eq!(plan(&world, &[ClientApp::ClaudeCode], None), expected);
}

/// An inherited server is no copy: `import` of that client makes one, under the same name. Of another client, an equal
/// server is skipped.
#[test]
fn an_inherited_server_can_be_imported() {
    let world = World::new();
    world.write("home/.cursor/mcp.json", &servers(r#""gh": {"command": "gh"}"#));
    world.write("home/.claude.json", &servers(r#""git": {"command": "gh"}"#));
    world.write("config/settings.json", r#"{"inherit": ["cursor"]}"#);
    assert_eq!(
        plan(&world, &[ClientApp::Cursor], None),
        "add gh (cursor, user) from home/.cursor/mcp.json:1:17\n"
    );
    assert_eq!(
        plan(&world, &[ClientApp::ClaudeCode], None),
        "skip git (claude-code): it is the same server as `gh` at home/.cursor/mcp.json:1:17\n"
    );
}

/// In the local scope, an entry of the project counts once a person has approved it.
#[test]
fn a_plan_for_a_project_compares_with_approved_entries() {
    let world = World::new();
    world.write("home/.claude.json", &servers(r#""gh": {"command": "gh"}"#));
    world.write("home/project/.mcp.json", &servers(r#""pending": {"command": "gh"}"#));
    let local = || plan(&world, &[ClientApp::ClaudeCode], Some(Scope::Local));
    assert_eq!(local(), "add gh (claude-code, local) from home/.claude.json:1:17\n");
    let items: Vec<_> = world.desired().pending.into_iter().map(|pending| pending.item).collect();
    world.workspace().approve(&items).unwrap();
    assert_eq!(
        local(),
        "skip gh (claude-code): it is the same server as `pending` at home/project/.mcp.json:1:17\n"
    );
}

#[test]
fn project_files_belong_to_the_project() {
    let world = World::new();
    let entry = servers(r#""one": {"command": "x", "args": ["${workspaceFolder}"]}"#);
    for file in
        [".mcp.json", ".cursor/mcp.json", ".gemini/settings.json", ".windsurf/mcp_config.json"]
    {
        world.write(&format!("home/project/{file}"), &entry.replace("one", file));
    }
    let other = r#"{"mcpServers": {"wind": {"command": "wind"}}}"#;
    world.write("home/project/.windsurf/mcp.json", other);
    world.write("home/project/.vscode/mcp.json", r#"{"servers": {"code": {"command": "code"}}}"#);
    world.write("home/project/.codex/config.toml", "[mcp_servers.codex]\ncommand = \"codex\"\n");
    world.write(
        "home/project/.zed/settings.json",
        r#"{"context_servers": {"zed": {"command": "zed"}}}"#,
    );
    let workspace = world.workspace();
    let read = || workspace.read_client_files(&ClientApp::ALL, ClientFileOwner::Project);
    let expected = "\
add _cursor_mcp_json (cursor, local) from home/project/.cursor/mcp.json:1:17
add code (vscode, local) from home/project/.vscode/mcp.json:1:14
add codex (codex, local) from home/project/.codex/config.toml:1:14
add wind (windsurf, local) from home/project/.windsurf/mcp.json:1:17
add zed (zed, local) from home/project/.zed/settings.json:1:22
skip .mcp.json (claude-code): this program reads that file itself
skip .gemini/settings.json (gemini): it is the same server as `_cursor_mcp_json` at home/project/.cursor/mcp.json:1:17
skip .windsurf/mcp_config.json (windsurf): it is the same server as `_cursor_mcp_json` at home/project/.cursor/mcp.json:1:17
";
    assert_eq!(render(&workspace.plan_import(read(), None), &world), expected);
    let shared = workspace.plan_import(read(), Some(Scope::Project));
    assert!(shared.add.iter().all(|planned| planned.scope == Scope::Project));
}

/// Continue reads every file of its folder `mcpServers`, of the user and of a project.
#[test]
fn a_folder_of_files_is_read_file_by_file() {
    let world = World::new();
    let block = "name: x\nversion: 0.0.1\nmcpServers:\n  - name: docs\n    command: docs\n";
    world.write("home/.continue/mcpServers/b.yaml", block);
    world.write("home/.continue/mcpServers/a.json", r#"{"command": "clock"}"#);
    world.write("home/.continue/mcpServers/notes.md", "not a server");
    assert_eq!(
        plan(&world, &[ClientApp::Continue], None),
        "add a (continue, user) from home/.continue/mcpServers/a.json:1:1\n\
         add docs (continue, user) from home/.continue/mcpServers/b.yaml:4:5\n"
    );
    world.write("home/project/.continue/mcpServers/c.yml", &block.replace("docs", "of-project"));
    let outside = world.path("home/.continue/mcpServers/b.yaml");
    let link = world.path("home/project/.continue/mcpServers/d.yaml");
    std::os::unix::fs::symlink(outside, link).unwrap();
    let workspace = world.workspace();
    let read = workspace.read_client_files(&[ClientApp::Continue], ClientFileOwner::Project);
    assert!(read.problems[0].message.ends_with("it is a link out of the project"));
    assert_eq!(
        render(&workspace.plan_import(read, None), &world),
        "add of-project (continue, local) from home/project/.continue/mcpServers/c.yml:4:5\n"
    );
    world.write("config/settings.json", r#"{"inherit": ["continue"]}"#);
    let desired = world.workspace().desired();
    let names: Vec<_> = desired.servers.iter().map(|server| &*server.name).collect();
    assert!(names.contains(&"docs") && !names.contains(&"of-project"), "{names:?}");
    assert!(desired.watched.contains(&world.path("home/.continue/mcpServers")));
}

/// `gemini mcp disable` writes to a file of its own, with names in lower case.
#[test]
fn a_server_that_gemini_has_switched_off_is_disabled() {
    let world = World::new();
    let settings = servers(r#""On": {"command": "on"}, "Off": {"command": "off"}"#);
    world.write("home/.gemini/settings.json", &settings);
    let switches = "home/.gemini/mcp-server-enablement.json";
    world.write(switches, r#"{"off": {"enabled": false}, "on": {"enabled": true}}"#);
    let read = || world.workspace().read_client_files(&[ClientApp::Gemini], ClientFileOwner::User);
    let disabled: Vec<_> =
        read().servers.iter().map(|found| found.entry["disabled"].clone()).collect();
    assert_eq!(disabled, [serde_json::Value::Null, true.into()]);
    world.write("config/settings.json", r#"{"inherit": ["gemini"]}"#);
    let desired = world.workspace().desired();
    let state = |name: &str| desired.servers_named(name).next().unwrap().state.name();
    assert_eq!((state("On"), state("Off")), ("ready", "disabled"));
    assert!(desired.watched.contains(&world.path(switches)));
    world.write(switches, "{");
    assert_eq!(read().problems.len(), 1, "a server could become enabled by mistake");
}

/// An entry that names a secret is the same as one with its value in plain text.
#[test]
fn a_secret_of_the_store_counts_as_its_value() {
    let mut world = World::new();
    world.write(
        "config/settings.json",
        &servers(
            r#""one": {"command": "x", "env": {"T": "${secret:ONE}"}},
            "unset": {"command": "x", "env": {"T": "${secret:UNSET}"}}"#,
        ),
    );
    world.write(
        "home/.cursor/mcp.json",
        &servers(
            r#""same": {"command": "x", "env": {"T": "value"}},
            "other": {"command": "x", "env": {"T": "another"}}"#,
        ),
    );
    world.set_secrets("ONE=value");
    assert_eq!(
        plan(&world, &[ClientApp::Cursor], None),
        "add other (cursor, user) from home/.cursor/mcp.json:2:13\n\
         skip same (cursor): it is the same server as `one` at config/settings.json:1:17\n"
    );
}

/// While the store is locked, a server that may be the one that names a secret is not added a second time.
#[test]
fn a_secret_that_cannot_be_read_leaves_it_undecided() {
    let mut world = World::new();
    world.set_secrets(&format!("ONE={LOCKED_SECRET}"));
    let check = |ours: &str, theirs: &str, expected: &str| {
        world.write("config/settings.json", &servers(&format!("\"one\": {ours}")));
        world.write("home/.cursor/mcp.json", &servers(&format!("\"x\": {theirs}")));
        let plan = plan(&world, &[ClientApp::Cursor], None);
        assert!(plan.starts_with(expected), "{ours} {theirs}: {plan}");
    };
    let undecided = "skip x (cursor): it may be the same server as `one`, whose secret `ONE` cannot be read: the \
                     keychain is locked";
    let ours = r#"{"command": "x", "env": {"T": "${secret:ONE}", "U": "u"}}"#;
    check(ours, r#"{"command": "x", "env": {"T": "value", "U": "u"}}"#, undecided);
    check(ours, ours, "skip x (cursor): it is the same server as `one`");
    check(ours, r#"{"command": "x", "env": {"T": "value", "U": "v"}}"#, "add x");
    check(ours, r#"{"command": "x", "env": {"T": "value"}}"#, "add x");
    check(ours, r#"{"command": "y", "env": {"T": "value", "U": "u"}}"#, "add x");
    let ours = r#"{"type": "http", "url": "https://a.example/?k=${secret:ONE}&z=1", "headers": {"A": "Bearer ${secret:ONE}"}}"#;
    let theirs = |url: &str, header: &str| {
        format!(r#"{{"url": "https://{url}", "headers": {{"a": "{header}"}}}}"#)
    };
    check(ours, &theirs("A.example/?k=1&z=1", "Bearer 1"), undecided);
    check(ours, &theirs("b.example/?k=1&z=1", "Bearer 1"), "add x");
    check(ours, &theirs("a.example/?k=1&z=2", "Bearer 1"), "add x");
    check(ours, &theirs("a.example/?k=1&z=1", "Basic 1"), "add x");
}

/// In a home, the files of a project would be the user's own; and a link could show them as a project's.
#[test]
fn files_of_the_user_are_not_a_projects() {
    let mut world = World::new();
    world.write("home/.cursor/mcp.json", &servers(r#""mine": {"command": "mine"}"#));
    std::fs::create_dir(world.path("home/project/.cursor")).unwrap();
    let link = world.path("home/project/.cursor/mcp.json");
    std::os::unix::fs::symlink(world.path("home/.cursor/mcp.json"), &link).unwrap();
    let read = |world: &World| {
        let workspace = world.workspace();
        workspace.read_client_files(&[ClientApp::Cursor], ClientFileOwner::Project)
    };
    let linked = read(&world);
    assert!(linked.servers.is_empty());
    assert_eq!(
        linked.problems[0].message,
        format!("skipped {}: it is a link out of the project", link.display())
    );
    world.surroundings.cwd = world.surroundings.home.clone();
    let home = read(&world);
    assert!(home.servers.is_empty() && home.problems.is_empty());
}
