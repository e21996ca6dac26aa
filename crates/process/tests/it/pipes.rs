//! Tests of the pipes: their data, and how each side sees the end of the other.

use std::sync::{Arc, Mutex};

use switchboard_process::{ProcessExit, SpawnedProcess, StderrOptions, StderrSink, spawn};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{both, bounded, command, guard, sh, start, stubborn};

#[test]
fn what_is_written_comes_back_through_cat() {
    bounded(async {
        for guard in both() {
            let cat = start(command("cat", []), &guard).await;
            let SpawnedProcess { mut stdin, mut stdout, process } = cat;
            for text in ["one\n", "two\n"] {
                stdin.write_all(text.as_bytes()).await.unwrap();
                let mut back = vec![0; text.len()];
                stdout.read_exact(&mut back).await.unwrap();
                assert_eq!(back, text.as_bytes());
            }
            assert_eq!(process.try_exit(), None);
            drop(stdin);
            assert_eq!(stdout.read(&mut [0]).await.unwrap(), 0);
            assert_eq!(process.wait_exit().await, ProcessExit::Code(0));
        }
    });
}

#[test]
fn a_child_that_closes_its_pipes_is_seen_to() {
    bounded(async {
        for guard in both() {
            let script = "exec >&- <&-; read never; exec sleep 100";
            let SpawnedProcess { mut stdin, mut stdout, process } = start(sh(script), &guard).await;
            assert_eq!(stdout.read(&mut [0]).await.unwrap(), 0);
            let error = loop {
                if let Err(error) = stdin.write_all(b"x").await {
                    break error;
                }
                tokio::task::yield_now().await;
            };
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
            assert_eq!(process.try_exit(), None);
            process.stop().await;
        }
    });
}

#[test]
fn ends_are_told_apart() {
    bounded(async {
        let cases = [
            ("exit 0", ProcessExit::Code(0)),
            ("exit 3", ProcessExit::Code(3)),
            ("exit 255", ProcessExit::Code(255)),
            ("kill -SEGV $$", ProcessExit::Signal(11)),
            ("kill -KILL $$", ProcessExit::Signal(9)),
            ("kill -40 $$", ProcessExit::Signal(40)),
        ];
        for guard in both() {
            for (script, exit) in cases {
                let SpawnedProcess { process, .. } = start(sh(script), &guard).await;
                let (one, other) = tokio::join!(process.wait_exit(), process.wait_exit());
                assert_eq!((one, other), (exit, exit), "{script}");
                assert_eq!(process.try_exit(), Some(exit));
                assert_eq!(process.stop().await, exit);
            }
        }
    });
}

#[test]
fn the_end_is_told_after_the_last_words() {
    bounded(async {
        for guard in both() {
            for _ in 0..20 {
                let script = "echo 'no key: grün' >&2; exit 3";
                let SpawnedProcess { process, .. } = start(sh(script), &guard).await;
                assert_eq!(process.wait_exit().await, ProcessExit::Code(3));
                assert_eq!(process.stderr_tail(), "no key: grün\n");
            }
        }
    });
}

#[test]
fn the_end_is_told_while_descendants_hold_the_pipes() {
    bounded(async {
        for guard in both() {
            let script = "sleep 100 & echo $! >&2; exit 3";
            let SpawnedProcess { process, mut stdout, .. } = start(sh(script), &guard).await;
            assert_eq!(process.wait_exit().await, ProcessExit::Code(3));
            assert!(process.stderr_tail().ends_with('\n'));
            // The descendants are stopped too, without a request, and then the pipes close.
            assert_eq!(stdout.read(&mut [0]).await.unwrap(), 0);
        }
    });
}

#[derive(Default)]
struct Count(Mutex<(usize, bool)>);

impl StderrSink for Count {
    fn write(&self, chunk: &[u8]) {
        let mut seen = self.0.lock().unwrap();
        seen.0 += chunk.len();
        seen.1 |= chunk.iter().any(|byte| *byte != b'x');
    }
}

#[test]
fn a_flood_of_standard_error_is_read_counted_and_forgotten() {
    const FLOOD: usize = 10 * 1024 * 1024;
    bounded(async {
        for guard in both() {
            let count = Arc::new(Count::default());
            let options = StderrOptions { sink: Some(count.clone()), ..StderrOptions::default() };
            let flood = stubborn(["flood", &FLOOD.to_string()]);
            let SpawnedProcess { mut stdout, process, .. } =
                spawn(flood, &guard, options).await.unwrap();
            let mut done = [0; 5];
            stdout.read_exact(&mut done).await.expect("the child got stuck");
            assert_eq!(process.wait_exit().await, ProcessExit::Code(0));
            assert_eq!(*count.0.lock().unwrap(), (FLOOD, false));
            assert_eq!(process.stderr_tail(), "x".repeat(64 * 1024));
        }
    });
}

#[test]
fn fifty_at_once_do_not_mix() {
    bounded(async {
        let guard = guard();
        let each = (0..50).map(|number| {
            let guard = guard.clone();
            tokio::spawn(async move {
                let SpawnedProcess { mut stdin, mut stdout, process } =
                    start(command("cat", []), &guard).await;
                let text = format!("number {number:02}");
                stdin.write_all(text.as_bytes()).await.unwrap();
                let mut back = vec![0; text.len()];
                stdout.read_exact(&mut back).await.unwrap();
                assert_eq!(back, text.as_bytes());
                (stdin, stdout, process)
            })
        });
        let each: Vec<_> = each.collect();
        let mut stopping = Vec::new();
        for one in each {
            let (_, _, process) = one.await.unwrap();
            stopping.push(tokio::spawn(async move { process.stop().await }));
        }
        for stop in stopping {
            assert!(matches!(stop.await.unwrap(), ProcessExit::Signal(2) | ProcessExit::Code(0)));
        }
    });
}
