//! Tests of the program on a pseudo-terminal: questions, and progress lines that are cleared.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use crate::Story;
use crate::setup::{eight_clients, home_files};

/// The key that ends the input of a terminal.
pub(crate) const CTRL_D: &str = "\u{4}";

/// A terminal with somebody at it.
pub(crate) struct Terminal;

impl Terminal {
    /// Runs a command on a terminal and answers its questions; gives back what was left on the screen.
    pub(crate) fn run(mut command: Command, answers: &[(&str, &str)]) -> String {
        let pty = nix::pty::openpty(None, None).unwrap();
        silence(&pty.slave);
        // A hub that the command starts would keep the terminal open.
        for side in [&pty.master, &pty.slave] {
            fcntl(side, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).unwrap();
        }
        let (mut near, far) = (File::from(pty.master), File::from(pty.slave));
        command
            .env("TERM", "xterm")
            .stdin(far.try_clone().unwrap())
            .stdout(far.try_clone().unwrap())
            .stderr(far);
        let mut child = command.spawn().unwrap();
        // Otherwise our own copies of the far end would keep the terminal open.
        drop(command);
        let (mut seen, mut told) = (String::new(), 0);
        let mut answers = answers.iter().peekable();
        let mut buffer = [0; 4096];
        // The end of a terminal is an error, not an end of file.
        while let Ok(count @ 1..) = near.read(&mut buffer) {
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
            if let Some((_, answer)) = answers.next_if(|next| is_asked(&seen[told..], next)) {
                near.write_all(answer.as_bytes()).unwrap();
                seen.push_str(answer);
                told = seen.len();
            }
        }
        let status = child.wait().unwrap();
        assert!(answers.next().is_none(), "it did not ask\n{seen}");
        let code = status.code().unwrap_or(-1);
        format!("exit {code}\n{}", left_on_screen(&seen))
    }
}

/// Whether a question stands there to its end, so that the answer comes after it.
///
/// A question ends with its choices in brackets, a sentence with its line.
fn is_asked(seen: &str, (question, answer): &(&str, &str)) -> bool {
    let end = if question.ends_with('.') { "\n" } else { "] " };
    let after = seen.split_once(question).map(|(_, after)| after);
    after.is_some_and(|after| answer.is_empty() || after.contains(end))
}

/// What is typed is written down by the test; an echo could come in between.
fn silence(terminal: &std::os::fd::OwnedFd) {
    use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
    let mut settings = tcgetattr(terminal).unwrap();
    settings.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(terminal, SetArg::TCSANOW, &settings).unwrap();
}

/// What a screen shows in the end: lines taken back are gone, and so is colour.
fn left_on_screen(seen: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in seen.replace("\r\n", "\n").split('\n') {
        let mut line = line;
        while let Some((up, rest)) =
            line.strip_prefix("\x1b[").and_then(|rest| rest.split_once("A\x1b[J"))
        {
            let up: usize = up.parse().unwrap();
            lines.truncate(lines.len() - up);
            line = rest;
        }
        lines.push(plain(line));
    }
    lines.join("\n")
}

fn plain(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest)
    })
}

fn project() -> Story {
    let story = Story::new();
    story.write(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "sh"}, "b": {"command": "sh"}, "c": {"command": "sh"}}}"#,
    );
    story
}

#[test]
fn approving_is_asked_about() {
    let mut story = project();
    for (args, answers) in [
        (
            &["approve"][..],
            &[("server a?", "maybe\n"), ("or q", "y\n"), ("server b?", "\n"), ("server c?", "q\n")]
                [..],
        ),
        (&["approve", "b"], &[("server b?", "n\n")]),
        (&["approve", "--all"], &[("Approve all 2?", "yes\n")]),
        (&["approve"], &[]),
    ] {
        let shown = Terminal::run(story.command(args), answers);
        let shown = story.home.filtered(&shown);
        story.tell(args, &shown);
    }
    story.run(&["list", "--no-check"]);
    insta::assert_snapshot!("approve_asked", story.transcript());
}

#[test]
fn importing_is_asked_about() {
    let mut story = Story::new();
    story.write("../.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "sh"}}}"#);
    for answer in ["n\n", "y\n"] {
        let shown =
            Terminal::run(story.command(&["import", "cursor"]), &[("Import 1 server?", answer)]);
        let shown = story.home.filtered(&shown);
        story.tell(&["import", "cursor"], &shown);
    }
    insta::assert_snapshot!("import_asked", story.transcript());
}

/// One question for all clients, there and back; without a yes nothing is written.
#[test]
fn setting_up_is_asked_about_once() {
    let story = eight_clients();
    let before = home_files(&story);
    let said =
        |args: &[&str], question, answer| Terminal::run(story.command(args), &[(question, answer)]);
    let undo = ["setup", "--undo"];
    assert!(said(&["setup"], "Do this?", "\n").starts_with("exit 0"));
    assert_eq!(home_files(&story), before);
    let done = said(&["setup"], "Do this?", "y\n");
    assert!(done.contains("imported 10 servers, changed 8 files"), "{done}");
    let after = home_files(&story);
    assert!(said(&undo, "Go back?", "n\n").starts_with("exit 0"));
    assert_eq!(home_files(&story), after);
    let done = said(&undo, "Go back?", "y\n");
    assert!(done.contains("Restored 9 files"), "{done}");
    assert_eq!(home_files(&story), before);
}

/// A value that looks like a secret goes to the store if the person at the terminal agrees.
#[test]
fn storing_a_secret_is_offered() {
    let story = Story::new();
    let question = "looks secret. Store it sealed, outside the file?";
    let file = story.home.path().join(".config/switchboard/settings.json");
    for (name, answer, is_stored) in [("a", "n\n", false), ("b", "\n", true)] {
        let token = format!("{}_TOKEN=MARKER-s3cret-{name}", name.to_uppercase());
        let header = format!("X-Token: MARKER-s3cret-{name}");
        let url = format!("https://{name}.example/mcp");
        for (kind, args) in [
            ("env", &["add", "-s", "user", "-e", &token, name, "sh"][..]),
            ("web", &["add", "-s", "user", &format!("{name}-web"), &url, "-H", &header]),
        ] {
            let shown = Terminal::run(story.command(args), &[(question, answer)]);
            assert!(shown.starts_with("exit 0"), "{kind}: {shown}");
            assert_eq!(shown.contains("as the secret"), is_stored, "{kind}: {shown}");
        }
    }
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.matches("MARKER-s3cret-a").count(), 2, "{text}");
    assert!(!text.contains("MARKER-s3cret-b") && text.contains("${secret:B_TOKEN}"), "{text}");
}

/// A line for each server that is waited for, and none of them left at the end.
#[test]
fn waiting_is_shown_and_cleared() {
    let mut story = Story::new();
    story.put_program_on_path();
    story.quietly(&["add", "hello", "switchboard", "builtin"]);
    story.quietly(&["add", "gone", "no-such-command"]);
    let pty = Terminal::run(story.command(&["list"]), &[("… hello  connecting", "")]);
    let shown = story.home.filtered(&pty);
    story.tell(&["list"], &shown);
    insta::assert_snapshot!("list_watched", story.transcript());
}
