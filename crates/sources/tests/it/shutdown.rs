//! Test that shutdown leaves no task, thread or watch.

use std::fs;
use std::process::Command;

use switchboard_testkit::http::{Reply, Scripted};

use crate::catalogue::{listing, settings};
use crate::fixture::{Home, options, soon, write};

/// The number of threads of this process with this name.
fn threads(name: &str) -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .filter(|comm| comm.starts_with(name))
        .count()
}

fn watches() -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok())
        .filter(|target| target.to_string_lossy().contains("inotify"))
        .count()
}

/// Run in a process of its own, where every thread, watch and task belongs to this test.
#[test]
fn no_task_thread_or_watch_is_left() {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shutdown::alone", "--ignored"])
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    assert!(String::from_utf8_lossy(&status.stdout).contains("1 passed"));
}

#[test]
#[ignore = "run by the test above, alone"]
fn alone() {
    for is_asked in [true, false] {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let served =
            runtime.block_on(Scripted::start(|_| async { Reply::json(200, listing(&["crm"])) }));
        let home = Home::new();
        write(home.settings(), settings(&served.url("/"), Some("echo token")));
        let alive = || runtime.metrics().num_alive_tasks();
        runtime.block_on(async {
            let mut followed = home.follow_with(options()).await;
            followed.ready(&["crm", "own"]).await;
            assert_eq!((threads("notify-rs"), watches() > 0), (1, true));
            if is_asked {
                soon(followed.sources.shutdown()).await;
            } else {
                drop(followed);
            }
        });
        drop(served);
        let gone = || threads("notify-rs") == 0 && watches() == 0 && alive() == 0;
        let waited =
            switchboard_testkit::processes::wait_until(crate::fixture::TEST_DEADLINE, gone);
        assert!(
            waited.is_some(),
            "{} threads, {} watches, {} tasks",
            threads("notify-rs"),
            watches(),
            alive()
        );
    }
}
