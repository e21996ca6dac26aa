//! Tests of `switchboard plugin serve` as a drop-in for other plugin servers: flags, health address, and messages about
//! files that are no plugins.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};

use serde_json::Value;

use crate::{Home, Story};

/// A server, and its standard error.
struct Watched {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Watched {
    /// On standard input and output, with a client that says nothing.
    fn start(story: &Story, args: &[&str]) -> Self {
        let mut command = story.command(&[&["plugin", "serve"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr }
    }

    /// Reads standard error up to a line with `text` in it; that line.
    fn read_until(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "it ended without `{text}`");
            if line.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The client goes away, which ends the server.
        drop(self.child.stdin.take());
        let ended = self.child.wait();
        assert!(ended.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// `-v` with a level, as the flag is written for other servers; and without, as everywhere in this program.
#[test]
fn a_level_may_follow_the_flag_for_more() {
    let story = Story::new();
    let check = |args: &[&str], is_verbose: bool| {
        let done = story.quietly(&[&["plugin", "serve"], args].concat());
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.success(), "{args:?}: {said}");
        assert_eq!(said.contains("loaded weather"), is_verbose, "{args:?}: {said}");
    };
    check(&[], false);
    check(&["-v", "0"], false);
    for more in [&["-v", "1"][..], &["-v1"], &["-v", "2"], &["--verbose", "1"], &["--verbose=1"]] {
        check(more, true);
    }
    check(&["-v"], true);
    check(&["-vv"], true);
    check(&["-v", "-n", "other"], true);
    check(&["-n", "mcp-server", "-l", "logs", "-v", "1"], true);
    let before = story.quietly(&["-v", "plugin", "serve"]);
    assert!(String::from_utf8(before.stderr).unwrap().contains("loaded weather"));
    let wrong = story.quietly(&["plugin", "serve", "-v", "much"]);
    assert_eq!(wrong.status.code(), Some(2));
    let both = story.quietly(&["plugin", "serve", "-v", "1", "-q"]);
    assert_eq!(both.status.code(), Some(2), "more and less at once");
}

#[test]
fn a_file_that_is_no_plugin_is_said_at_the_start() {
    let mut story = Story::new();
    std::fs::create_dir(story.path("plugins")).unwrap();
    story.write("plugins/text.so", "no object");
    std::os::unix::fs::symlink("nowhere.so", story.path("plugins/link.so")).unwrap();
    story.run(&["plugin", "serve", "-p", "plugins"]);
    story.run(&["--json", "plugin", "serve", "-p", "plugins"]);
    insta::assert_snapshot!("plugin_serve_broken", story.transcript());
}

#[test]
fn a_file_that_is_no_plugin_is_said_when_it_comes() {
    let story = Story::new();
    std::fs::create_dir(story.path("plugins")).unwrap();
    let check = |args: &[&str], name: &str, expected: &dyn Fn(&str)| {
        let args = [&["-p", "plugins"], args].concat();
        let mut served = Watched::start(&story, &args);
        for number in [1, 2] {
            story.write(&format!("plugins/{name}-{number}.so"), &format!("no object {number}"));
            expected(&served.read_until(&format!("{name}-{number}")));
        }
    };
    check(&[], "text", &|line| assert!(line.contains("it is not a shared object"), "{line}"));
    check(&["--json"], "json", &|line| {
        let said: Value = serde_json::from_str(line).unwrap();
        assert_eq!(said["problem"]["message"], "it is not a shared object");
    });
}

#[test]
fn monitors_find_it_healthy() {
    let home = Home::new();
    let mut command = home.command(&["plugin", "serve", "-t", "--port", "0", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let address = ready["address"].as_str().unwrap();
    for path in ["/health", "/healthz"] {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{path}: {answer}");
    }
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(child.wait().unwrap().success());
}
