//! Tests of a setup and an undo that are killed between two steps, or while they write.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Story;
use crate::gateway::until;
use crate::setup::{eight_clients, home_files, text_of};

/// The locks that earlier commands of this home have left, one for each file that they change.
fn locks(story: &Story) -> Vec<PathBuf> {
    let folder = story.home.path().join(".local/state/switchboard/locks");
    let mut locks: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    locks.sort();
    locks
}

/// Whether a process has a file open, or has ended.
fn has_open(child: &mut Child, file: &Path) -> bool {
    let folder = format!("/proc/{}/fd", child.id());
    let open = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    open.any(|target| target == file) || child.try_wait().unwrap().is_some()
}

/// Runs a command until it needs this lock, and kills it there; whether it came so far.
fn kill_at(story: &Story, args: &[&str], lock: &Path) -> bool {
    let held = File::options().write(true).open(lock).unwrap();
    held.lock().unwrap();
    let mut command = story.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let lock = lock.canonicalize().unwrap();
    until("it never needs the lock", || has_open(&mut child, &lock));
    let is_running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    is_running
}

fn succeed(story: &Story, args: &[&str]) {
    let output = story.quietly(args);
    assert!(output.status.success(), "{args:?}: {}", story.home.shown(&output));
}

/// Each file has a lock, so holding one stops a command between two steps.
#[test]
fn a_setup_that_was_killed_between_two_steps_goes_back_or_on() {
    let story = eight_clients();
    let before = home_files(&story);
    let setup = ["setup", "--move-secrets", "--yes"];
    let undo = ["setup", "--undo", "--yes"];
    succeed(&story, &setup);
    let after = home_files(&story);
    succeed(&story, &undo);
    let mut killed = (0, 0);
    for lock in locks(&story) {
        let is_killed = kill_at(&story, &setup, &lock);
        killed.0 += usize::from(is_killed);
        succeed(&story, &undo);
        assert_eq!(home_files(&story), before, "back after {}", lock.display());

        kill_at(&story, &setup, &lock);
        succeed(&story, &setup);
        assert_eq!(home_files(&story), after, "on after {}", lock.display());
        killed.1 += usize::from(kill_at(&story, &undo, &lock));
        succeed(&story, &undo);
        assert_eq!(home_files(&story), before, "back twice after {}", lock.display());
    }
    // Eight clients, our settings and the record.
    assert!(killed.0 >= 10 && killed.1 >= 10, "{killed:?}");
    let secrets = story.quietly(&["secret", "list"]);
    assert!(story.home.shown(&secrets).contains("No secrets."), "{secrets:?}");
}

/// The shell limits how much a process may write into one file; the system kills it at the first byte beyond.
fn limited(story: &Story, args: &[&str]) -> Command {
    let program = story.command(args);
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -c 0; ulimit -f 64; exec "$0" "$@""#]);
    command.arg(program.get_program()).args(args).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(program.get_current_dir().unwrap());
    command
}

/// The half-written file has what the client's file has, tokens too.
#[test]
fn a_half_written_file_does_not_stay() {
    let story = Story::new();
    let comment = "x".repeat(100_000);
    let text = format!("// {comment}\n{{\"mcpServers\": {{\"a\": {{\"command\": \"a\"}}}}}}\n");
    story.write("../.cursor/mcp.json", &text);
    let before = home_files(&story);
    succeed(&story, &["setup", "--yes"]);
    let undo = ["setup", "--undo", "--yes"];
    let killed = limited(&story, &undo).output().unwrap();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    let left = home_files(&story).into_keys().filter(|path| !before.contains_key(path));
    assert!(left.into_iter().any(|path| path.extension().is_some_and(|it| it == "tmp")));
    // The person puts the file back, so nothing is left to do for it.
    story.write("../.cursor/mcp.json", &text);
    succeed(&story, &undo);
    assert_eq!(home_files(&story), before);
    assert_eq!(text_of(&story, ".cursor/mcp.json"), text);
}
