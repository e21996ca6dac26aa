//! Tests of failing hooks: a note, no block, no leftover process.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use switchboard_config::EffectiveHook;
use switchboard_config::HookEvent::PreToolUse;
use switchboard_core::hooks::PreToolUse as Outcome;
use switchboard_core::permission::HookVerdict;

use super::{Folder, bounded, hook, raw, told, tool_use};

async fn run(folder: &Folder, hook: EffectiveHook, input: &str) -> Outcome {
    folder.hooks(&[hook]).pre_tool_use(&tool_use(&raw(input))).await
}

#[test]
fn a_failure_is_a_note() {
    bounded(async {
        let check = async |command: &str, expected: &str| {
            let folder = Folder::new();
            let outcome = run(&folder, hook(PreToolUse, command), "{}").await;
            assert_eq!(outcome.verdict, HookVerdict::None, "{command}");
            assert_eq!(told(&outcome.notes), [expected], "{command}");
        };
        check("echo oops >&2; exit 1", "1 Failed: exited with status 1: oops").await;
        check("exit 3", "1 Failed: exited with status 3").await;
        // What it says counts only where it ended well.
        check(r#"echo '{"decision":"block"}'; exit 1"#, "1 Failed: exited with status 1").await;
        check("kill -KILL $$", "1 Failed: killed by SIGKILL").await;
    });
}

#[test]
fn a_hook_that_cannot_be_started_is_a_note() {
    bounded(async {
        let folder = Folder::new();
        let lost = EffectiveHook { start_folder: "/nowhere".into(), ..hook(PreToolUse, "true") };
        let (hooks, _) = switchboard_core::hooks::Hooks::new(&[lost], folder.runner());
        let outcome = hooks.pre_tool_use(&tool_use(&raw("{}"))).await;
        assert_eq!(outcome.verdict, HookVerdict::None);
        assert_eq!(
            told(&outcome.notes),
            [
                "1 Failed: it could not be started: working directory `/nowhere` is not a directory that can \
              be entered"
            ]
        );
    });
}

/// In a session of its own as well, where a signal to the group does not reach.
#[test]
fn a_hook_that_takes_too_long_is_stopped_with_all_it_started() {
    bounded(async {
        let folder = Folder::new();
        let deaf = "trap '' INT TERM; while :; do sleep 60; done";
        let command = format!("setsid sh -c \"{deaf}\" & {deaf}");
        let timeout = Duration::from_secs(1);
        let start = Instant::now();
        let slow = EffectiveHook { timeout, ..hook(PreToolUse, &command) };
        let outcome = run(&folder, slow, "{}").await;
        assert!(start.elapsed() >= timeout, "it had its time");
        assert_eq!(outcome.verdict, HookVerdict::None);
        assert_eq!(told(&outcome.notes), ["1 Failed: it took longer than 1 s and was stopped"]);
        folder.is_deserted();
    });
}

#[test]
fn what_a_hook_leaves_running_neither_delays_it_nor_stays() {
    bounded(async {
        let folder = Folder::new();
        let outcome = run(&folder, hook(PreToolUse, "sleep 60 & exit 2"), "{}").await;
        assert_eq!(outcome.verdict, HookVerdict::Deny { reason: String::new() });
        folder.is_deserted();
    });
}

#[test]
fn a_hook_that_writes_without_end_is_stopped() {
    bounded(async {
        let folder = Folder::new();
        let outcome = run(&folder, hook(PreToolUse, "yes"), "{}").await;
        assert!(matches!(outcome.verdict, HookVerdict::Ask { .. }));
        folder.is_deserted();
    });
}

/// More than a pipe holds, to one that reads nothing, and to one that answers as much first.
#[test]
fn a_large_input_needs_no_listener() {
    bounded(async {
        let folder = Folder::new();
        let mut input = String::from("{");
        for number in 0..100_000 {
            let _ = write!(input, "\"{number}\":\"xxxxxxxxxx\",");
        }
        input.push_str("\"end\":1}");
        for command in ["exit 2", "head -c 500000 /dev/zero; cat > /dev/null; exit 2"] {
            let outcome = run(&folder, hook(PreToolUse, command), &input).await;
            assert_eq!(outcome.verdict, HookVerdict::Deny { reason: String::new() }, "{command}");
        }
    });
}

#[test]
fn a_long_reason_is_cut() {
    bounded(async {
        let folder = Folder::new();
        let command = "head -c 20000 /dev/zero | tr '\\0' x >&2; exit 2";
        let outcome = run(&folder, hook(PreToolUse, command), "{}").await;
        let expected = "x".repeat(10_000) + "…";
        assert_eq!(outcome.verdict, HookVerdict::Deny { reason: expected });
    });
}

/// Three that each wait for the other two: one after the other they would not end.
#[test]
fn hooks_run_at_the_same_time() {
    bounded(async {
        let folder = Folder::new();
        let meet = |number| {
            let all = "[ -e 1 ] && [ -e 2 ] && [ -e 3 ]";
            hook(PreToolUse, &format!("touch {number}; until {all}; do sleep 0.01; done"))
        };
        let hooks = folder.hooks(&[meet(1), meet(2), meet(3)]);
        let outcome = hooks.pre_tool_use(&tool_use(&raw("{}"))).await;
        assert_eq!(told(&outcome.notes), Vec::<String>::new());
    });
}
