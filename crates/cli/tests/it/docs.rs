//! Tests that the documents show the program's real output and options. `INSTA_UPDATE=always` rewrites them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use switchboard_config::Scope;
use switchboard_core::connection::ConnectionTiming;
use switchboard_core::engine::ListsArrival;
use switchboard_core::remote::{RemoteLatency, RemoteServer, RemoteStats};
use switchboard_core::{EngineOptions, results};
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::face::FaceTimeouts;
use switchboard_hub::socket::HubLifetime;
use switchboard_process::ProcessGuard;
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::{Remedy, RemoteError};

use crate::{Home, Story};

/// The page beside the folder of the others. Its commands would need minutes and a network.
const README: &str = "../README.md";

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares a page with what it should be, or writes it.
fn check(name: &str, expected: &str) {
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        std::fs::write(page(name), expected).unwrap();
    }
    let found = std::fs::read_to_string(page(name)).unwrap_or_default();
    let first = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "docs/{name} is not current, from {first:?} on; run the tests with INSTA_UPDATE=always and read the difference"
    );
}

fn help(args: &[&str]) -> String {
    let output = Home::new().command(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The commands that the program's help names.
fn commands(help: &str) -> Vec<String> {
    // The groups of commands stand between the usage and the options.
    let listed = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let listed = listed.take_while(|line| *line != "Options:");
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The commands below a command, with their help without the flags that every command has.
fn nested_commands(path: &[&str], own: &str) -> Vec<(String, String)> {
    let listed = own.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    let mut found = Vec::new();
    for name in names {
        let path = [path, &[name]].concat();
        let help = without_global_flags(&help(&[path.as_slice(), &["--help"]].concat()));
        let below = nested_commands(&path, &help);
        found.push((path.join(" "), help));
        found.extend(below);
    }
    found
}

/// The heading of the flags that every command has.
const GLOBAL_FLAGS: &str = "Everywhere:\n";

/// The help of a command without the flags that every command has.
fn without_global_flags(help: &str) -> String {
    let mut is_global = false;
    let is_own = |line: &&str| {
        if !line.is_empty() && !line.starts_with(' ') {
            is_global = *line == GLOBAL_FLAGS.trim_end();
        }
        !is_global
    };
    let own: String = help.lines().filter(is_own).map(|line| format!("{line}\n")).collect();
    format!("{}\n", own.trim_end())
}

#[test]
fn the_reference_is_the_help() {
    let own = help(&["--help"]);
    let names = commands(&own);
    assert!(names.len() > 10, "{names:?}");
    let intro = "Generated from `switchboard --help`. The flags under *Everywhere* work with every command, and are listed only here.";
    let mut text = format!("# The command line\n\n{intro}\n\n```text\n{own}```\n");
    for name in &names {
        let help = help(&[name, "--help"]);
        assert!(help.contains(GLOBAL_FLAGS), "{name}");
        let help = without_global_flags(&help);
        text.push_str(&format!("\n## {name}\n\n```text\n{help}```\n"));
        for (nested, help) in nested_commands(&[name], &help) {
            text.push_str(&format!("\n### {nested}\n\n```text\n{help}```\n"));
        }
    }
    check("reference/cli.md", &text);
}

/// The numbers of the settings are those that count where nothing is written; other crates decide them.
#[test]
fn the_defaults_of_settings_are_what_counts() {
    let timing = ConnectionTiming::default();
    let engine = EngineOptions::new("docs", "0", ProcessGuard::none());
    let HubLifetime::WhileUsed { idle, .. } = HubLifetime::while_used() else {
        panic!("it never ends")
    };
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap();
    let page = std::fs::read_to_string(page("reference/settings.md")).unwrap();
    for (key, expected) in [
        ("requestTimeoutMs", millis(timing.first_byte)),
        ("reconnectAttempts", timing.retries.into()),
        ("firstListWaitMs", millis(BridgeOptions::default().first_list)),
        ("questionTtlMs", millis(engine.patience)),
        ("callsInFlight", timing.calls_in_flight as u64),
        ("sessionIdleMs", millis(FaceTimeouts::default().idle)),
        ("hubIdleMs", millis(idle)),
        ("spillBytes", engine.results_bytes),
        ("spillDays", engine.results_age.as_secs() / 86_400),
        ("imagePixels", results::MAX_IMAGE_PIXELS.into()),
        ("imageBytes", results::MAX_IMAGE_BYTES as u64),
    ] {
        let row = format!("| `{key}` | whole number | {expected} |");
        assert!(page.contains(&row), "{row}");
    }
}

/// Every promise names the test that shows it; a name without a folder is in the folder of the name before it.
#[test]
fn the_tests_that_the_page_of_promises_names_exist() {
    let text = std::fs::read_to_string(page("security.md")).unwrap();
    let crates = page("../crates");
    let (mut folder, mut count) = (crates.clone(), 0);
    for name in text.split('`').skip(1).step_by(2) {
        let is_file = Path::new(name).extension().is_some_and(|it| it == "rs" || it == "txt");
        if !is_file && !name.contains("/tests/") {
            continue;
        }
        let file = if name.contains('/') { crates.join(name) } else { folder.join(name) };
        assert!(file.exists(), "{}", file.display());
        folder = file.parent().unwrap().to_owned();
        count += 1;
    }
    assert!(count > 20, "{count}");
}

/// Runs every command of every page in order, each page in an empty home of its own, and puts what is printed in place
/// of what stands there.
#[test]
fn the_guide_is_what_happens() {
    let mut pages = vec!["getting-started.md".to_owned(), "install.md".to_owned()];
    pages.extend(pages_in(&["clients", "features", "problems"]));
    assert!(pages.len() > 15, "{pages:?}");
    std::thread::scope(|scope| {
        for name in &pages {
            scope.spawn(|| check(name, &typed_again(name)));
        }
    });
}

fn typed_again(name: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(Scripted::start(|_| async { Reply::empty(401) }));
    let story = story_with_program();
    let shown = "localhost:8000";
    let real = server.addr().to_string();
    let run = |line: &str| {
        let line = format!("{{ {}\n}} 2>&1", line.replace(shown, &real));
        let output = shell(&story, &line).output().unwrap();
        let text = story.home.filtered(&String::from_utf8(output.stdout).unwrap());
        text.replace(&real, shown)
    };
    let page = std::fs::read_to_string(page(name)).unwrap();
    replayed(&page, run)
}

/// A shell in the project of a story, which finds the programs in the home's `bin` first.
fn shell(story: &Story, line: &str) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .env_clear()
        .env("HOME", story.home.path())
        .env("PATH", format!("{}:/usr/bin:/bin", story.home.path().join("bin").display()))
        .current_dir(story.path(""));
    shell
}

/// A home with this program in its `bin`, as `switchboard`.
fn story_with_program() -> Story {
    let story = Story::new();
    let bin = story.path("../bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_switchboard"), bin.join("switchboard")).unwrap();
    story
}

/// The page with the output of every `$ command` in its console blocks made anew.
fn replayed(page: &str, run: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in page.lines() {
        let command = line.strip_prefix("$ ").filter(|_| inside);
        match (line, command) {
            ("```console", _) => inside = true,
            ("```", _) => inside = false,
            (_, None) if inside => continue,
            _ => {}
        }
        text.push_str(line);
        text.push('\n');
        if let Some(command) = command {
            let output = run(command);
            let output = output.trim_end();
            text.push_str(output);
            text.push_str(if output.is_empty() { "" } else { "\n" });
        }
    }
    text
}

/// Commands in running text, and those that would need a network, a browser or minutes, are not typed again. The
/// program takes each of them as it stands there.
#[test]
fn the_program_takes_every_command_that_a_page_mentions() {
    let mut mentions = BTreeMap::new();
    let folders = [".", "clients", "features", "problems", "reference"];
    for name in pages_in(&folders).into_iter().chain([README.to_owned()]) {
        let text = std::fs::read_to_string(page(&name)).unwrap();
        let commands = mentioned_commands(&name, &text).into_iter();
        mentions.extend(commands.map(|command| (command, name.clone())));
    }
    assert!(mentions.len() > 100, "{mentions:?}");
    let story = story_with_program();
    let mut refused = Vec::new();
    for (mention, name) in &mentions {
        for line in help_lines(mention) {
            let output = shell(&story, &line).output().unwrap();
            if !output.status.success() {
                let why = String::from_utf8_lossy(&output.stderr);
                refused.push(format!("{name}: {mention}: {why}"));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// The pages in folders of `docs`.
fn pages_in(folders: &[&str]) -> Vec<String> {
    let names = folders.iter().flat_map(|folder| {
        let files = std::fs::read_dir(page(folder)).unwrap().flatten().map(|file| file.path());
        let pages = files.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
        pages.map(move |path| format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap()))
    });
    names.collect()
}

/// The command lines of this program on a page, in code spans and in blocks that are not typed again.
fn mentioned_commands(name: &str, page: &str) -> Vec<String> {
    let (mut commands, mut prose, mut block) = (Vec::new(), String::new(), None);
    for line in page.replace("\\\n", " ").lines() {
        if let Some(kind) = line.strip_prefix("```") {
            block = block.is_none().then_some(kind);
        } else if let Some(kind) = block {
            let line = match (kind, line.strip_prefix("$ ")) {
                ("console", Some(line)) if name == README => line,
                ("console", _) => continue,
                (_, typed) => typed.unwrap_or(line),
            };
            commands.extend(line.split(" #").next().map(str::to_owned));
        } else {
            prose.push_str(line);
            prose.push(if line.is_empty() { '\n' } else { ' ' });
        }
    }
    let spans = prose.lines().flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    commands.extend(spans.map(str::to_owned));
    commands.retain(|line| line.starts_with("switchboard "));
    commands
}

/// The command lines that print help once everything before `--help` was understood. What follows `--` is the command
/// line of a server, or in a client's entry that of `connect`.
fn help_lines(command: &str) -> Vec<String> {
    let command = command.replace("CLIENT", "cursor").replace("SCOPE", "user");
    let command = command.replace(['<', '>'], "");
    let Some((own, rest)) = command.split_once(" -- ") else {
        return vec![format!("{command} --help")];
    };
    let mut lines = vec![format!("{own} --help")];
    if own.starts_with("switchboard install ") {
        lines.push(format!("switchboard connect {rest} --help"));
    }
    lines
}

/// The lists on the page of variables are those of the code.
#[test]
fn the_page_of_variables_is_what_passes() {
    let name = "reference/environment.md";
    let code = |names: &[&str]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let rows = switchboard_config::baseline_groups();
    let rows = rows.iter().map(|group| format!("| {} | {} |\n", group.purpose, code(group.names)));
    let table = format!("| for | variables |\n|---|---|\n{}", rows.collect::<String>());
    let page = std::fs::read_to_string(page(name)).unwrap();
    let page = between(&page, "baseline", &table);
    check(
        name,
        &between(
            &page,
            "often needed",
            &format!("{}.\n", code(&switchboard_config::OFTEN_NEEDED_VARIABLES)),
        ),
    );
}

/// The page with other text between two marks.
fn between(page: &str, mark: &str, text: &str) -> String {
    let (start, end) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let (before, rest) = page.split_once(&start).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{start}{text}{end}{after}")
}

/// Every member that `list` and its fellows print is explained.
#[test]
fn every_member_is_documented() {
    let page = std::fs::read_to_string(page("reference/json.md")).unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        // What is printed for people may be anybody's JSON.
        let commands = text.split("\n$ switchboard ");
        let commands =
            commands.filter(|command| command.lines().next().unwrap().contains("--json"));
        let starts = ["\n--- stdout\n{\n", "\n--- stderr\n{\n"];
        let objects = commands
            .flat_map(|command| starts.map(|start| command.split_once(start)))
            .flatten()
            .map(|(_, object)| object);
        for object in objects {
            let json = format!("{{\n{}\n}}", object.split("\n}\n").next().unwrap_or_default());
            let json = json.replace(": N", ": 1");
            let Ok(value) = serde_json::from_str(&json) else {
                continue;
            };
            check_members(&page, &value, &format!("{:?}", entry.file_name()));
        }
    }
}

/// Checks that the page of JSON output explains every member of what a command printed.
pub(crate) fn check_json_members(value: &serde_json::Value, of: &str) {
    check_members(&std::fs::read_to_string(page("reference/json.md")).unwrap(), value, of);
}

fn check_members(page: &str, value: &serde_json::Value, of: &str) {
    for name in members(value) {
        assert!(page.contains(&format!("`{name}`")), "`{name}` of {of} is not explained");
    }
}

/// Every member of a server in a hub's snapshot stands on the page of the admin API, and every word for its lists.
#[test]
fn every_member_of_a_snapshot_is_documented() {
    let page = std::fs::read_to_string(page("reference/admin.md")).unwrap();
    let error = RemoteError {
        causes: vec!["it fell".to_owned()],
        remedy: Remedy::Retry,
        hint: Some("try again".to_owned()),
        lacks_credentials: true,
    };
    let latency = RemoteLatency { calls: 1, p50_millis: 1, p99_millis: 1 };
    let stats = RemoteStats {
        connects: 1,
        restarts: 0,
        calls_in_flight: 0,
        latency: Some(latency),
        pid: Some(1),
        pids: vec![1, 2],
        last_error: Some(error.clone()),
    };
    let text = || Some("x".to_owned());
    let server = |lists| RemoteServer {
        name: "kiosk".to_owned(),
        scope: Scope::User,
        at: None,
        transport: text(),
        entry: Some(serde_json::json!({})),
        state: "failed".to_owned(),
        connections: Some(2),
        affected_connections: Some(1),
        why: text(),
        hint: text(),
        error: Some(error.clone()),
        last_tried_at: Some(1),
        retry_in_millis: Some(1),
        lists_read_at: Some(1),
        silent_since: Some(1),
        answer_millis: Some(1),
        server_name: text(),
        server_version: text(),
        protocol: text(),
        era: text(),
        offers: vec!["tools".to_owned()],
        connect_millis: Some(1),
        lists,
        tool_count: 1,
        cost: 1,
        stats: Some(stats.clone()),
    };
    let all =
        [ListsArrival::There, ListsArrival::Coming, ListsArrival::Overdue, ListsArrival::Never];
    for lists in all {
        let value = serde_json::to_value(server(lists)).unwrap();
        for name in members(&value) {
            let is_there =
                [format!("`{name}`"), format!("\"{name}\"")].iter().any(|name| page.contains(name));
            assert!(is_there, "`{name}` is not explained");
        }
        let word = value["lists"].as_str().unwrap();
        assert!(page.contains(&format!("`{word}`")), "`{word}` is not explained");
    }
}

/// The names of members, without those inside what other people wrote.
fn members(value: &serde_json::Value) -> Vec<String> {
    let foreign = [
        "entry",
        "content",
        "capabilities",
        "items",
        "result",
        "inputSchema",
        "outputSchema",
        "annotations",
        "item",
    ];
    match value {
        serde_json::Value::Object(object) => object
            .iter()
            .flat_map(|(name, value)| {
                let inner = if foreign.contains(&&**name) { Vec::new() } else { members(value) };
                std::iter::once(name.clone()).chain(inner)
            })
            .collect(),
        serde_json::Value::Array(elements) => elements.iter().flat_map(members).collect(),
        _ => Vec::new(),
    }
}
