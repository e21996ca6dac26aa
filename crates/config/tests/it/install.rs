//! Tests of our entry in other clients' files: where it is written, and that removing it restores every byte.

use std::path::Path;

use switchboard_config::import::ClientApp;
use switchboard_config::install::{
    ClientInstallation, INSTALLABLE_CLIENTS, InstalledEntry, LaunchCommand, is_switchboard_entry,
};
use switchboard_config::{EnvironmentVariables, Error, HostContext, Platform};

fn surroundings(home: &Path) -> HostContext {
    let env: EnvironmentVariables = [("HOME".to_owned(), home.display().to_string())].into();
    HostContext::for_platform(Platform::Linux, env, home.to_owned()).unwrap()
}

fn look(client: ClientApp, surroundings: &HostContext) -> Result<ClientInstallation, Error> {
    let program = Path::new("/opt/bin/switchboard");
    let found =
        ClientInstallation::inspect(client, "switchboard", program, surroundings, Platform::Linux);
    found.expect("entries are written for it")
}

fn launch() -> LaunchCommand {
    LaunchCommand { program: "/opt/bin/switchboard".into(), args: vec!["connect".to_owned()] }
}

/// Installs into `before`, which becomes `after`, and uninstalls again.
fn check(client: ClientApp, file: &str, before: &str, after: &str) {
    let home = tempfile::tempdir().unwrap();
    let surroundings = surroundings(home.path());
    let path = home.path().join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, before).unwrap();
    let found = look(client, &surroundings).unwrap();
    assert_eq!((&found.file, &found.current), (&path, &InstalledEntry::Nothing), "{client}");
    found.write(&found.entry(&launch()), &surroundings).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), after, "{client}");

    let found = look(client, &surroundings).unwrap();
    assert!(matches!(found.current, InstalledEntry::Ours(_)), "{client}: {:?}", found.current);
    assert_eq!(found.current.value(), Some(&found.entry(&launch())), "{client}: again");
    found.erase(&surroundings).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "{client}: out again");
}

#[test]
fn beside_what_is_there() {
    let plain = r#"{
  "theme": "dark", // mine
  "mcpServers": {
    "other": { "command": "x" }
  }
}
"#;
    let with = |typed: &str| {
        let ours = "\"command\": \"/opt/bin/switchboard\",\n      \"args\": [\n        \"connect\"\n      ]";
        let ours = format!("\"x\" }},\n    \"switchboard\": {{\n      {typed}{ours}\n    }}");
        plain.replace("\"x\" }", &ours)
    };
    let stdio = with("\"type\": \"stdio\",\n      ");
    check(ClientApp::ClaudeCode, ".claude.json", plain, &stdio);
    check(ClientApp::ClaudeDesktop, ".config/Claude/claude_desktop_config.json", plain, &with(""));
    check(ClientApp::Cursor, ".cursor/mcp.json", plain, &with(""));
    check(ClientApp::Gemini, ".gemini/settings.json", plain, &with(""));
    check(ClientApp::Windsurf, ".codeium/windsurf/mcp_config.json", plain, &with(""));
    let renamed = |text: &str, member: &str| text.replace("mcpServers", member);
    let (before, after) = (renamed(plain, "servers"), renamed(&stdio, "servers"));
    check(ClientApp::VsCode, ".config/Code/User/mcp.json", &before, &after);
    let (before, after) =
        (renamed(plain, "context_servers"), renamed(&with(""), "context_servers"));
    check(ClientApp::Zed, ".config/zed/settings.json", &before, &after);
}

#[test]
fn beside_what_is_there_in_toml() {
    let ours =
        "[mcp_servers.switchboard]\ncommand = \"/opt/bin/switchboard\"\nargs = [\"connect\"]\n";
    for (before, after) in [
        ("", ours.to_owned()),
        ("model = \"m\" # best\n", format!("model = \"m\" # best\n\n{ours}")),
        (
            "[mcp_servers.other]\ncommand = 'x'\n\n# last\n[tui]\na=1\n",
            format!("[mcp_servers.other]\ncommand = 'x'\n\n{ours}\n# last\n[tui]\na=1\n"),
        ),
        (
            "mcp_servers = { other = { command = \"x\" } }\n",
            "mcp_servers = { other = { command = \"x\" } , switchboard = { command = \"/opt/bin/switchboard\", args = [\"connect\"] } }\n".to_owned(),
        ),
        // Line ends and a byte-order mark of another system stay.
        (
            "\u{feff}model = \"m\"\r\n\r\n[mcp_servers.other]\r\ncommand = '''\r\na\r\n'''\r\n\r\n[tui]\na=1\r\nb=2",
            format!(
                "\u{feff}model = \"m\"\r\n\r\n[mcp_servers.other]\r\ncommand = '''\r\na\r\n'''\r\n\r\n{}\r\n[tui]\na=1\r\nb=2",
                ours.replace('\n', "\r\n")
            ),
        ),
    ] {
        check(ClientApp::Codex, ".codex/config.toml", before, &after);
    }
}

#[test]
fn into_a_client_that_was_never_configured() {
    for client in INSTALLABLE_CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let surroundings = surroundings(home.path());
        let found = look(client, &surroundings).unwrap();
        found.write(&found.entry(&launch()), &surroundings).unwrap();
        let again = look(client, &surroundings).unwrap();
        assert!(matches!(again.current, InstalledEntry::Ours(_)), "{client}");
        // An import finds the entry that we wrote.
        let text = std::fs::read_to_string(&found.file).unwrap();
        let origin = switchboard_config::SourceOrigin::file(&found.file);
        let read = switchboard_config::import::read_client_file(client, &origin, &text);
        assert_eq!(read.servers.len(), 1, "{client}: {read:?}");
        assert_eq!(read.servers[0].entry["command"], "/opt/bin/switchboard", "{client}");
        assert!(is_switchboard_entry(&read.servers[0].entry), "{client}");
    }
}

#[test]
fn what_a_person_added_stays() {
    let home = tempfile::tempdir().unwrap();
    let surroundings = surroundings(home.path());
    let path = home.path().join(".codex/config.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let before = "[mcp_servers.switchboard] # ours\ncommand = \"/old/switchboard\"\nargs = [\"connect\"]\ntool_timeout_sec = 90\n";
    std::fs::write(&path, before).unwrap();
    let found = look(ClientApp::Codex, &surroundings).unwrap();
    found.write(&found.entry(&launch()), &surroundings).unwrap();
    let after = std::fs::read_to_string(&path).unwrap();
    assert_eq!(after, before.replace("/old/", "/opt/bin/"));
}

#[test]
fn what_is_not_ours_is_known_as_such() {
    let ours = |json: &str| is_switchboard_entry(&serde_json::from_str(json).unwrap());
    for json in [
        r#"{"command":"switchboard","args":["connect"]}"#,
        r#"{"command":"C:\\bin\\switchboard.exe","args":["--config-dir","x","connect"]}"#,
        r#"{"command":{"path":"/x/switchboard","args":["connect"]}}"#,
    ] {
        assert!(ours(json), "{json}");
    }
    for json in [
        r#"{"command":"switchboard","args":["call"]}"#,
        r#"{"command":"switchboard"}"#,
        r#"{"command":"my-switchboard","args":["connect"]}"#,
        r#"{"type":"http","url":"http://127.0.0.1:7420/mcp"}"#,
        r#""switchboard connect""#,
    ] {
        assert!(!ours(json), "{json}");
    }
}

#[test]
fn a_file_that_changed_since_it_was_looked_at_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let surroundings = surroundings(home.path());
    let found = look(ClientApp::Cursor, &surroundings).unwrap();
    std::fs::create_dir_all(found.file.parent().unwrap()).unwrap();
    let theirs = r#"{"mcpServers":{"switchboard":{"command":"theirs"}}}"#;
    std::fs::write(&found.file, theirs).unwrap();
    let written = found.write(&found.entry(&launch()), &surroundings);
    assert!(matches!(written, Err(Error::Contended { .. })), "{written:?}");
    assert_eq!(std::fs::read_to_string(&found.file).unwrap(), theirs);
}

#[test]
fn a_damaged_file_is_left_alone() {
    for (client, file, text) in [
        (ClientApp::Cursor, ".cursor/mcp.json", "{\"mcpServers\": {"),
        (ClientApp::Cursor, ".cursor/mcp.json", "{\"mcpServers\": []}"),
        (ClientApp::Codex, ".codex/config.toml", "[mcp_servers"),
        (ClientApp::Codex, ".codex/config.toml", "mcp_servers = 3"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let surroundings = surroundings(home.path());
        let path = home.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let written = look(client, &surroundings)
            .and_then(|found| found.write(&found.entry(&launch()), &surroundings));
        assert!(matches!(written, Err(Error::Edit { .. })), "{text}: {written:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
