//! Test of an editor that has the project open: found, used and switched off like any other server, with a hub and
//! without.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use switchboard_testkit::programs::program;

use crate::gateway::{Client, stop, until};
use crate::{Home, Story};

/// An editor: another user's program that speaks MCP over HTTP+SSE.
struct Editor {
    _home: Home,
    serving: Child,
    port: String,
}

impl Editor {
    fn start() -> Self {
        let home = Home::new();
        let kiosk = program("kiosk");
        let add = ["add", "-s", "user", "kiosk", "--", kiosk.to_str().unwrap()];
        home.command(&add).output().unwrap();
        let serve = ["serve", "--listen", "127.0.0.1:0", "--names", "bare", "--json"];
        let mut serving = home.command(&serve).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = ready["url"].as_str().expect(&line);
        let port = url.rsplit(':').next().unwrap();
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        Self { _home: home, serving, port }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let id = nix::unistd::Pid::from_raw(self.serving.id().cast_signed());
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM);
        let _ = self.serving.wait();
    }
}

/// A project that is open in the editor, which shows one of its tools.
fn story(editor: &Editor) -> Story {
    let mut story = Story::new();
    let folder = story.path("").canonicalize().unwrap();
    let lock = json!({
        "pid": editor.serving.id(), "workspaceFolders": [folder], "ideName": "Ed", "transport": "sse",
        "authToken": "sk-secret",
    });
    story.write(&format!("../.claude/ide/{}.lock", editor.port), &lock.to_string());
    story.write("../.config/switchboard/settings.json", r#"{"ideTools": ["erase"]}"#);
    story.replace(&editor.port, "PORT");
    story
}

/// Everything that a person does with it.
fn told(story: &mut Story) -> String {
    for args in [
        &["list"][..],
        &["list", "--no-check"],
        &["get", "ide"],
        &["tools"],
        &["call", "ide/erase"],
        &["disable", "ide"],
        &["list"],
        &["get", "ide"],
        &["enable", "ide"],
        &["list"],
    ] {
        story.run(args);
    }
    story.transcript().to_owned()
}

#[test]
fn an_editor_is_the_same_with_a_hub_and_without() {
    let editor = Editor::start();
    let alone = told(&mut story(&editor));
    insta::assert_snapshot!("editor_commands", alone);
    let mut story = story(&editor);
    let mut client = Client::spawn(story.command(&["connect"]));
    assert_eq!(told(&mut story), alone);

    let sees_editor = |client: &mut Client| {
        let listed = client.ask("tools/list", &json!({})).unwrap();
        listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "ide__erase")
    };
    until("the client has no editor", || sees_editor(&mut client));
    client.call("ide__erase").unwrap();
    std::fs::remove_file(story.path(&format!("../.claude/ide/{}.lock", editor.port))).unwrap();
    until("the client still has the editor", || !sees_editor(&mut client));
    client.leave();
    stop(&story.home);
}
