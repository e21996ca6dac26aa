//! Tests of the audit file: rotation, several writers, disks that fail or hang.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nix::sys::stat::Mode;
use switchboard_core::audit::{
    AuditFilter, AuditLog, AuditSink as _, CallEnd, CallRecord, CallerIdentity, follow_audit_log,
    read_audit_log,
};

use switchboard_core::principal::Principal;

use super::{calls, entries, lost};

fn called(name: &str) -> Arc<CallRecord> {
    let who = CallerIdentity {
        workspace: "/work".into(),
        session: "s".to_owned(),
        client: "test".to_owned(),
        principal: Principal::local(),
        transport: "socket",
    };
    Arc::new(CallRecord {
        at: SystemTime::now(),
        caller: Arc::new(who),
        server: name.split('-').next().unwrap_or_default().to_owned(),
        secrets: Arc::default(),
        method: "tools/call".into(),
        name: name.to_owned(),
        decision: None,
        end: CallEnd::Result,
        duration: Duration::from_micros(7),
        stages: switchboard_core::audit::StageTimes::default(),
        sent: 1,
        received: 2,
        recent_id: None,
    })
}

fn files(logs: &Path) -> Vec<(String, u64)> {
    let files = fs::read_dir(logs).unwrap().flatten();
    let facts = |file: fs::DirEntry| {
        (file.file_name().into_string().unwrap(), file.metadata().unwrap().len())
    };
    let mut files: Vec<_> = files.map(facts).collect();
    files.sort();
    files
}

#[tokio::test]
async fn a_file_that_is_large_is_put_away() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let log = AuditLog::with_size(&logs, 2000).unwrap();
    for number in 0..100 {
        log.record_call(&called(&format!("one-{number}")));
        log.settle().await;
    }
    let files = files(&logs);
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.3", "audit.lock"]
    );
    assert!(files.iter().all(|(_, size)| *size < 2500), "{files:?}");
    for (name, _) in &files {
        let mode = fs::metadata(logs.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let entries = entries(&logs).await;
    let names: Vec<_> = calls(&entries).iter().map(|line| line.name.clone()).collect();
    let last: Vec<_> = (100 - names.len()..100).map(|number| format!("one-{number}")).collect();
    assert_eq!(names, last, "the newest are kept, in order");
}

/// As a hub, a `serve` and a command would: each its own log on the same file.
#[tokio::test]
async fn several_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let logs: Vec<_> =
        (0..3).map(|_| AuditLog::with_size(folder.path(), 40_000).unwrap()).collect();
    for number in 0..100 {
        for (at, log) in logs.iter().enumerate() {
            log.record_call(&called(&format!("{at}-{number}")));
        }
        if number % 10 == 0 {
            for log in &logs {
                log.settle().await;
            }
        }
    }
    for log in &logs {
        log.settle().await;
        assert_eq!(log.problem(), None);
    }
    assert!(files(folder.path()).len() > 2, "it was never put away");
    let entries = entries(folder.path()).await;
    for at in 0..3 {
        let server = at.to_string();
        let of = calls(&entries).into_iter().filter(|line| line.server == server).count();
        assert_eq!(of, 100, "of writer {at}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_told_and_calls_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    fs::write(&logs, "in the way").unwrap();
    let log = AuditLog::open(&logs).unwrap();
    for number in 0..5 {
        log.record_call(&called(&format!("one-{number}")));
        log.settle().await;
    }
    let problem = log.problem().unwrap().message;
    assert!(problem.contains("calls missing from it: 5"), "{problem}");
    fs::remove_file(&logs).unwrap();
    log.record_call(&called("one-again"));
    log.settle().await;
    assert_eq!(log.problem(), None, "it is written again");
    let entries = entries(&logs).await;
    assert_eq!(lost(&entries).iter().map(|lost| lost.lost).collect::<Vec<_>>(), [5]);
    assert_eq!(calls(&entries).len(), 1);
}

#[tokio::test]
async fn a_full_disk_is_told_and_calls_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = AuditLog::path(folder.path());
    symlink("/dev/full", &path).unwrap();
    let log = AuditLog::open(folder.path()).unwrap();
    log.record_call(&called("one-1"));
    log.settle().await;
    let problem = log.problem().unwrap().message;
    assert!(problem.contains("No space left") && problem.contains("from it: 1"), "{problem}");
    fs::remove_file(&path).unwrap();
    log.record_call(&called("one-2"));
    log.settle().await;
    let entries = entries(folder.path()).await;
    assert_eq!((lost(&entries)[0].lost, calls(&entries).len()), (1, 1));
}

/// A disk that takes nothing for a while: a pipe that nobody reads.
#[test]
fn a_disk_that_hangs_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = AuditLog::path(folder.path());
    nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
    let log = AuditLog::open(folder.path()).unwrap();
    let total = 30_000;
    for number in 0..total {
        log.record_call(&called(&format!("one-{number}")));
    }
    // Everything that was taken and everything that was not comes out, as soon as somebody reads.
    let (counted, counts) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut pipe = fs::File::open(path).unwrap();
        let (mut text, mut block) = (String::new(), vec![0; 1 << 16]);
        let (mut lines, mut lost) = (0, 0);
        while lines + lost < total {
            let count = pipe.read(&mut block).unwrap();
            text.push_str(std::str::from_utf8(&block[..count]).unwrap());
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            for line in text.drain(..whole).collect::<String>().lines() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                match line["lost"].as_u64() {
                    Some(count) => lost += count,
                    None => lines += 1,
                }
            }
        }
        counted.send((lines, lost)).unwrap();
    });
    let (lines, lost) = counts.recv_timeout(Duration::from_secs(60)).expect("some are missing");
    assert_eq!(lines + lost, total);
    assert!(lost > 0, "it never hung");
}

#[tokio::test]
async fn a_torn_line_spoils_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = AuditLog::path(folder.path());
    fs::write(&path, r#"{"time":"2026-07-2"#).unwrap();
    let log = AuditLog::open(folder.path()).unwrap();
    log.record_call(&called("one-1"));
    log.settle().await;
    let history = read_audit_log(folder.path(), AuditFilter::default(), 10).await.unwrap();
    assert_eq!((history.unreadable, calls(&history.entries).len()), (1, 1));
}

#[tokio::test]
async fn what_is_wanted_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::open(folder.path()).unwrap();
    let of_two = || AuditFilter::default().of_server("two");
    let mut following = follow_audit_log(folder.path(), of_two()).await.unwrap();
    for name in ["one-1", "two-1", "one-2", "two-2"] {
        log.record_call(&called(name));
    }
    log.settle().await;
    let names = async |filter: AuditFilter, most: usize| {
        let history = read_audit_log(folder.path(), filter, most).await.unwrap();
        let names: Vec<_> = calls(&history.entries).iter().map(|line| line.name.clone()).collect();
        names
    };
    assert_eq!(names(AuditFilter::default(), 3).await, ["two-1", "one-2", "two-2"]);
    assert_eq!(names(of_two(), 3).await, ["two-1", "two-2"]);
    assert_eq!(names(of_two(), 1).await, ["two-2"]);
    let hour = Duration::from_secs(3600);
    assert_eq!(names(AuditFilter::default().since(SystemTime::now() - hour), 9).await.len(), 4);
    assert_eq!(names(AuditFilter::default().since(SystemTime::now() + hour), 9).await, [""; 0]);
    for (id, expected) in [("local", 4), ("user:ada", 0), ("…", 0)] {
        let found = names(AuditFilter::default().of_principal(id), 9).await;
        assert_eq!(found.len(), expected, "{id}");
    }
    let mut followed = Vec::new();
    while followed.len() < 2 {
        followed.extend(following.next().await.unwrap());
    }
    assert_eq!(
        calls(&followed).iter().map(|line| &*line.name).collect::<Vec<_>>(),
        ["two-1", "two-2"]
    );
}
