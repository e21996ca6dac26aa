//! Tests of the terminal UI in a pseudo-terminal, driven by keys, against a hub with real servers and clients.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use switchboard_testkit::openid::{OpenId, Tokens, peers, person};
use switchboard_testkit::programs::program;

use crate::gateway::{Client, stop};
use crate::{Home, Story};

/// How often a screen is looked at before it is said that it does not come. A look takes some milliseconds.
const LOOKS: usize = 20_000;

/// A terminal with a shell in it.
struct Screen {
    story: Story,
    socket: PathBuf,
}

// === impl Screen ===

impl Screen {
    /// A terminal of the usual size, with the program in it.
    fn new(story: Story) -> Self {
        let socket = story.home.path().join("tmux");
        let screen = Self { story, socket };
        let usual = screen.story.command(&[]);
        let mut shell = Command::new("tmux");
        shell.env_clear().current_dir(screen.story.path(""));
        shell.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("LANG", "C.UTF-8").arg("-S").arg(&screen.socket);
        shell.args(["-u", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh"]);
        assert!(shell.status().unwrap().success());
        screen.begin("ui");
        screen
    }

    /// Starts the program, and says in the shell what became of it.
    fn begin(&self, args: &str) {
        let program = env!("CARGO_BIN_EXE_switchboard");
        self.types(&format!("{program} {args}; echo ended with $?"));
        self.press("Enter");
        self.shows("1 Servers");
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").arg("-S").arg(&self.socket).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn seen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Presses keys, as tmux names them.
    fn press(&self, keys: &str) {
        let keys: Vec<_> = keys.split(' ').collect();
        self.tmux(&[&["send-keys"], &keys[..]].concat());
    }

    fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// The texts that programs have copied.
    fn buffers(&self) -> String {
        self.tmux(&["list-buffers", "-F", "#{buffer_sample}"])
    }

    /// Looks until it is there.
    fn shows(&self, text: &str) -> String {
        let mut seen = String::new();
        for _ in 0..LOOKS {
            seen = self.seen();
            if seen.contains(text) {
                return seen;
            }
        }
        panic!("`{text}` is not shown:\n{seen}");
    }

    /// Looks until it is gone.
    fn hides(&self, text: &str) {
        let is_gone = |_| !self.seen().contains(text);
        assert!((0..LOOKS).any(is_gone), "`{text}` is still shown:\n{}", self.seen());
    }

    /// Looks until the row of a server says so.
    fn state(&self, server: &str, state: &str) {
        let is_so = |line: &str| line.contains(server) && line.contains(state);
        for _ in 0..LOOKS {
            if self.seen().lines().any(is_so) {
                return;
            }
        }
        panic!("{server} is not {state}:\n{}", self.seen());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").status();
        self.story.quietly(&["stop"]);
    }
}

fn kiosk() -> Story {
    let story = Story::new();
    let program = program("kiosk");
    let entry = json!({ "command": program, "questions": { "elicitation": "queue" } });
    story.quietly(&["add-json", "-s", "user", "kiosk", &entry.to_string()]);
    let settings = story.home.path().join(".config/switchboard/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["permissions"] = json!({ "ask": ["mcp__kiosk__erase"] });
    std::fs::write(&settings, value.to_string()).unwrap();
    story
}

#[test]
fn a_person_works_at_a_terminal() {
    let screen = Screen::new(kiosk());
    screen.state("kiosk", "✔ connected");
    screen.press("Enter");
    screen.shows("Memory");
    screen.press("Escape");
    screen.shows("n new");
    // A tool is found while it is typed, called, and watched.
    screen.press("2 /");
    screen.types("count");
    screen.shows("find (1 of ");
    screen.press("Enter Enter");
    screen.shows("mcp__kiosk__count");
    screen.types("3");
    screen.press("C-s");
    screen.shows("counted to 3");
    screen.press("Escape");
    screen.shows("Enter call");
    // A prompt and a resource, from the command line.
    screen.types(":mcp__kiosk__letter Ada");
    screen.press("Enter");
    screen.shows("Write to Ada.");
    screen.press("Escape");
    screen.types("@kiosk:kiosk://leaf");
    screen.press("Tab Enter");
    screen.shows("take one");
    screen.press("Escape");
    // A client that cannot be asked calls; the terminal is asked in its place.
    let mut client = Client::spawn(screen.story.command(&["connect"]));
    let erase = client.send("tools/call", &json!({ "name": "kiosk__erase", "arguments": {} }));
    screen.shows("5 Questions (1)");
    screen.press("5");
    screen.state("permission", " test ");
    screen.press("Enter");
    screen.shows("mcp__kiosk__erase");
    screen.press("o");
    assert_eq!(client.hear(erase).unwrap()["content"][0]["text"], "erased");
    let register =
        client.send("tools/call", &json!({ "name": "kiosk__register", "arguments": {} }));
    screen.shows("Who are you?");
    screen.press("Enter");
    screen.shows("As your friends say it");
    screen.types("A");
    screen.press("C-s");
    screen.shows("Name: That is not valid");
    screen.types("da");
    screen.press("Tab Tab Tab Tab Right Right C-s");
    let answered = client.hear(register).unwrap().to_string();
    assert!(answered.contains("Ada") && answered.contains("\\\"g\\\""), "{answered}");
    // Everything is on record.
    screen.press("6");
    screen.shows("mcp__kiosk__register");
    client.leave();
    screen.press("/");
    screen.types("count");
    screen.shows("find (1 of ");
    screen.press("Enter Enter");
    screen.shows("Request");
    screen.press("PPage NPage");
    screen.shows("counted to 3");
    screen.press("r");
    screen.shows("[ Call ]");
    screen.press("C-s");
    screen.shows("✔ done in");
    // Two of them at once would be one: terminals mark other keys with it.
    screen.press("Escape");
    screen.shows("J JSON  Esc close");
    screen.press("Escape");
    screen.shows("/ find");
    // Servers are switched off and on, here and in the file.
    screen.types(":mcp disable kiosk");
    screen.press("Enter");
    screen.state("kiosk", "⊘ disabled");
    screen.types(":mcp enable all");
    screen.press("Enter");
    screen.state("kiosk", "✔ idle");
    // The hub goes, and comes back.
    assert!(stop(&screen.story.home).is_some());
    screen.shows("✘ no hub");
    screen.state("kiosk", "? unknown");
    screen.press("S");
    screen.shows("✔ hub");
    screen.state("kiosk", "✔ idle");
    // It goes to the background and comes back, and leaves the terminal as it was.
    screen.press("C-z");
    screen.shows("Stopped");
    screen.types("fg");
    screen.press("Enter");
    screen.shows("1 Servers");
    screen.press("q");
    screen.hides("1 Servers");
    screen.types("echo left with $?");
    screen.press("Enter");
    screen.shows("left with 0");
    screen.types("stty -a | tr -s ' ' '\\n' | grep -cx -e icanon -e echo");
    screen.press("Enter");
    screen.shows("\n2\n");
}

#[test]
fn the_terminal_gets_copies_and_another_size() {
    let screen = Screen::new(kiosk());
    screen.state("kiosk", "✔ connected");
    // Its command is copied to the clipboard of the terminal.
    screen.tmux(&["set-option", "-g", "set-clipboard", "on"]);
    screen.press("y");
    screen.shows("✔ copied ");
    let copied = program("kiosk").display().to_string();
    let is_copied = |_| screen.buffers().contains(&copied);
    assert!((0..LOOKS).any(is_copied), "{}", screen.buffers());
    // The screen follows the size of the terminal.
    screen.resize(200, 50);
    screen.shows("COMMAND OR URL");
    screen.resize(120, 40);
    screen.hides("COMMAND OR URL");
    screen.shows("│ Command ");
    screen.resize(60, 20);
    screen.shows("this needs 80×24");
    screen.resize(80, 24);
    screen.shows("1 Servers");
    screen.press("q");
    screen.shows("ended with 0");
}

#[test]
fn a_server_is_added_reviewed_and_removed() {
    let story = Story::new();
    let wants =
        json!({ "mcpServers": { "shelf": { "command": program("kiosk"), "args": ["--shelf"] } } });
    story.write(".mcp.json", &wants.to_string());
    let screen = Screen::new(story);
    screen.state("shelf", "⏸ awaiting approval");
    screen.press("a");
    screen.shows("--shelf");
    screen.press("a");
    screen.state("shelf", "✔ connected");
    screen.press("n");
    screen.shows("Add a server");
    screen.types(program("kiosk").to_str().unwrap());
    screen.press("Tab");
    screen.types("stand");
    screen.press("C-s");
    screen.state("stand", "✔ connected");
    screen.press("/");
    screen.types("stand");
    screen.press("Enter l");
    screen.shows("the kiosk is open");
    screen.press("Escape");
    screen.shows("c change");
    screen.press("c");
    screen.shows("entry of stand");
    screen.press("Down End");
    screen.types("oops");
    screen.press("C-s");
    screen.shows("not valid JSON");
    screen.press("Escape");
    screen.shows("x remove");
    screen.press("x");
    screen.shows("This removes the entry of");
    screen.press("y");
    screen.shows("No match");
    // A signal ends it as politely as a key does.
    let shell = screen.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let child = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", shell.trim()));
    let child: i32 = child.unwrap().trim().parse().unwrap();
    let child = nix::unistd::Pid::from_raw(child);
    nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGTERM).unwrap();
    screen.shows("ended with 0");
}

#[test]
fn a_person_signs_in_from_a_terminal() {
    let (provider, mut story) = (OpenId::start(Tokens::Opaque(3600)), Story::new());
    let person = person();
    let words = std::iter::once(person.get_program()).chain(person.get_args());
    let words: Vec<_> = words.map(|word| word.to_str().unwrap()).collect();
    story.set("BROWSER", &words.join(" "));
    story.set("SWITCHBOARD_PEERS", peers().to_str().unwrap());
    story.quietly(&["add", "web", provider.url()]);
    let screen = Screen::new(story);
    screen.state("web", "! sign-in needed");
    screen.shows("i sign in");
    screen.press("i");
    screen.shows("Sign in on a page of this host");
    screen.press("o");
    screen.shows("Signed in and connected");
    screen.press("Escape");
    screen.state("web", "✔ connected");
    screen.press("o");
    screen.shows("signed out of web");
    screen.state("web", "! sign-in needed");
    screen.press("q");
    screen.shows("ended with 0");
}

/// The counts of the hub: live, as a table, and as JSON.
#[test]
fn top_shows_what_was_called() {
    let screen = Screen::new(kiosk());
    screen.press("q");
    screen.shows("ended with 0");
    let program = env!("CARGO_BIN_EXE_switchboard");
    screen.types(&format!("clear; {program} top; echo top ended with $?"));
    screen.press("Enter");
    screen.shows("SERVER, TOOL");
    let mut client = Client::spawn(screen.story.command(&["connect"]));
    let arguments = json!({ "name": "kiosk__count", "arguments": { "to": 2 } });
    let count = client.send("tools/call", &arguments);
    client.hear(count).unwrap();
    let seen = screen.shows("mcp__kiosk__count");
    assert!(seen.contains("1 call, 0 errors"), "{seen}");
    screen.press("t");
    screen.hides("mcp__kiosk__count");
    let table = screen.story.home.run(&["top", "--once"]);
    let row = table.lines().find(|line| line.contains("mcp__kiosk__count"));
    let columns: Vec<_> = row.unwrap_or(&table).split_whitespace().collect();
    assert_eq!((columns[2], columns[3]), ("1", "0"), "{table}");
    let output = screen.story.command(&["top", "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["total"]["calls"], 1, "{told}");
    assert_eq!(told["servers"][0]["name"], "kiosk");
    assert_eq!(told["tools"][0]["errors"], 0);
    assert!(told["tools"][0]["latency"]["p99Micros"].as_u64() > Some(0), "{told}");
    client.leave();
    // The hub ends while it is shown.
    assert!(stop(&screen.story.home).is_some());
    screen.shows("✘ no hub is running; retrying");
    screen.press("q");
    screen.shows("top ended with 0");
    let told = screen.story.command(&["top", "--json"]).output().unwrap().stdout;
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told, json!({ "running": false }));
}

#[test]
fn without_a_terminal_it_says_so() {
    let home = Home::new();
    insta::assert_snapshot!("ui_no_terminal", home.run(&["ui"]));
    insta::assert_snapshot!("ui_standalone", home.run(&["ui", "--standalone"]));
}
