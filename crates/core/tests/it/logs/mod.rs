//! Tests of server logs: timestamps, rotation, following, floods.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use switchboard_core::logs::ServerLogs;

const MIB: usize = 1024 * 1024;

fn logs() -> (tempfile::TempDir, ServerLogs) {
    let dir = tempfile::tempdir().unwrap();
    let logs = ServerLogs::open(dir.path().join("logs")).unwrap();
    (dir, logs)
}

/// Lines without their time, which has to be there.
fn without_time(lines: &[String]) -> Vec<&str> {
    let cut = |line: &'_ String| {
        let (time, rest) = line.split_once(' ').unwrap_or_else(|| panic!("no time: {line}"));
        assert!(time.len() == 24 && time.ends_with('Z') && time.contains('T'), "{line}");
        line.len() - rest.len()
    };
    lines.iter().map(|line| &line[cut(line)..]).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Waits until everything is written, however long the disk takes.
async fn settled(logs: &ServerLogs, path: &Path, holds: &str) {
    for _ in 0..60 {
        logs.settle().await;
        let text = fs::read(path).unwrap_or_default();
        if String::from_utf8_lossy(&text).contains(holds) {
            return;
        }
    }
    panic!("{holds:?} was never written");
}

#[tokio::test]
async fn chunks_become_lines_with_their_time() {
    let (_dir, logs) = logs();
    let sink = logs.sink("git hub", "/work");
    for chunk in ["one\ntw", "o\n\nthr", "ee"] {
        sink.write(chunk.as_bytes());
    }
    logs.write_note("git hub", "/work", "ended: exit\nstatus 1");
    sink.write(b"\xFF\x1b[31mred\n");
    let lines = logs.tail("git hub", "/work", 10).await.unwrap();
    assert_eq!(
        without_time(&lines),
        ["one", "two", "", "three", "[switchboard] ended: exit status 1", "\u{fffd}\u{1b}[31mred"]
    );
    let last = logs.tail("git hub", "/work", 2).await.unwrap();
    assert_eq!(last, lines[4..]);
}

#[tokio::test]
async fn a_log_is_private_and_its_own() {
    let (dir, logs) = logs();
    let path = logs.path("git hub/../x", "/work");
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("git_hub____x-") && name.len() == "git_hub____x-12345678.log".len(),
        "{name}"
    );
    assert_eq!(path.parent(), Some(dir.path().join("logs").as_path()));
    assert_ne!(path, logs.path("git hub/../x", "/other"));
    assert_ne!(path, logs.path("git hub____x", "/work"));

    logs.write_note("git hub/../x", "/work", "hello");
    assert_eq!(logs.tail("git hub/../x", "/work", 5).await.unwrap().len(), 1);
    assert_eq!(logs.tail("git hub/../x", "/other", 5).await.unwrap(), [""; 0]);
    assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, 0o600));
}

#[tokio::test]
async fn a_log_goes_on_after_a_restart() {
    let (dir, logs) = logs();
    logs.sink("s", "w").write(b"half a li");
    logs.settle().await;
    drop(logs);
    let logs = ServerLogs::open(dir.path().join("logs")).unwrap();
    logs.write_note("s", "w", "started");
    let lines = logs.tail("s", "w", 5).await.unwrap();
    assert_eq!(without_time(&lines), ["half a li", "[switchboard] started"]);
}

#[tokio::test]
async fn a_large_log_is_rotated_and_never_past_its_ceiling() {
    let (_dir, logs) = logs();
    let sink = logs.sink("s", "w");
    let chunk = format!("{}\n", "x".repeat(1023)).repeat(512);
    for _ in 0..160 {
        sink.write(chunk.as_bytes());
        logs.settle().await;
    }
    logs.write_note("s", "w", "the end");
    let path = logs.path("s", "w");
    settled(&logs, &path, "the end").await;
    let files: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|f| f.unwrap().path()).collect();
    let bytes: Vec<u64> = files.iter().map(|file| fs::metadata(file).unwrap().len()).collect();
    assert_eq!(files.len(), 4, "{files:?}");
    assert!(bytes.iter().all(|bytes| *bytes < 17 * MIB as u64), "{bytes:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600));

    // The end is read over the files' border.
    let lines = logs.tail("s", "w", 2000).await.unwrap();
    assert_eq!(lines.len(), 2000);
    assert!(lines[1999].ends_with("the end"));
    let expected = "x".repeat(1023);
    assert!(without_time(&lines[..1999]).iter().all(|line| *line == expected));
}

#[tokio::test]
async fn a_flood_waits_for_nobody_and_holds_little() {
    let (_dir, logs) = logs();
    let sink = logs.sink("loud", "w");
    let before = peak_memory();
    let chunk = [b'x'; 16 * 1024];
    let started = std::time::Instant::now();
    for _ in 0..500 * MIB / chunk.len() {
        sink.write(&chunk);
    }
    // The disk alone would take longer; a lock held over it would show.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    logs.write_note("quiet", "w", "still here");
    logs.write_note("loud", "w", "it is over");
    settled(&logs, &logs.path("quiet", "w"), "still here").await;
    settled(&logs, &logs.path("loud", "w"), "it is over").await;
    let lines = logs.tail("loud", "w", 3).await.unwrap();
    assert!(
        lines.iter().any(|line| line.contains("bytes came too fast and were dropped")),
        "{:?}",
        lines.iter().map(String::len).collect::<Vec<_>>()
    );
    assert!(peak_memory() - before < 300 * MIB, "{} bytes more", peak_memory() - before);
}

#[tokio::test]
async fn following_sees_every_line_over_rotations() {
    let (_dir, logs) = logs();
    let sink = logs.sink("s", "w");
    sink.write(b"before\n");
    let mut follow = logs.follow("s", "w").await.unwrap();
    let mut seen = Vec::new();
    let block = "y".repeat(2000);
    let mut written = 0;
    // Two rotations, with a reader that is always behind.
    while written < 20_000 {
        for _ in 0..200 {
            sink.write(format!("{written} {block}\n").as_bytes());
            written += 1;
        }
        logs.settle().await;
        seen.extend(follow.next_lines().await.unwrap());
    }
    while seen.len() < written {
        let more = tokio::time::timeout(Duration::from_secs(20), follow.next_lines()).await;
        seen.extend(more.unwrap_or_else(|_| panic!("{} of {written}", seen.len())).unwrap());
    }
    let numbers: Vec<usize> = without_time(&seen)
        .iter()
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(numbers.iter().copied().eq(0..written), "{} lines", numbers.len());
}

#[tokio::test]
async fn a_follower_may_come_before_the_log_and_may_stop_waiting() {
    let (_dir, logs) = logs();
    let mut follow = logs.follow("s", "w").await.unwrap();
    let nothing = tokio::time::timeout(Duration::from_millis(1), follow.next_lines()).await;
    assert!(nothing.is_err());
    logs.write_note("s", "w", "hello");
    let lines =
        tokio::time::timeout(Duration::from_secs(20), follow.next_lines()).await.unwrap().unwrap();
    assert_eq!(without_time(&lines), ["[switchboard] hello"]);
}

#[tokio::test]
async fn a_disk_that_refuses_is_a_problem_and_no_more() {
    let (dir, logs) = logs();
    fs::remove_dir_all(dir.path().join("logs")).unwrap();
    let sink: Arc<dyn switchboard_process::StderrSink> = logs.sink("s", "w");
    sink.write(b"lost\n");
    logs.settle().await;
    assert!(logs.problem().unwrap().message.contains("logs are not written"));
    fs::create_dir(dir.path().join("logs")).unwrap();
    sink.write(b"kept\n");
    let lines = logs.tail("s", "w", 5).await.unwrap();
    assert_eq!(without_time(&lines), ["kept"]);
    assert_eq!(logs.problem(), None);
}

/// The most memory this process has had so far.
pub(crate) fn peak_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
