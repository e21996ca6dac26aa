//! Tests of hook matchers: which hooks run.

use switchboard_config::{EffectiveHook, HookEvent};
use switchboard_core::EngineProblemKind;
use switchboard_core::permission::HookVerdict;

use super::{Folder, bounded, hook, raw, told, tool_use};

fn matching(event: HookEvent, matcher: &str, command: &str) -> EffectiveHook {
    EffectiveHook { matcher: Some(matcher.to_owned()), ..hook(event, command) }
}

#[test]
fn only_the_hooks_of_the_event_and_the_name() {
    bounded(async {
        let folder = Folder::new();
        let hooks = folder.hooks(&[
            matching(HookEvent::PreToolUse, "mcp__disk__.*", "touch right"),
            matching(HookEvent::PreToolUse, "mcp__disk__delete_all", "touch name"),
            hook(HookEvent::PostToolUse, "touch event"),
        ]);
        hooks.pre_tool_use(&tool_use(&raw("{}"))).await;
        assert!(folder.has("right") && !folder.has("name") && !folder.has("event"));

        let check = |event, name, expected| assert_eq!(hooks.has(event, name), expected, "{name}");
        check(HookEvent::PreToolUse, "mcp__disk__x", true);
        check(HookEvent::PreToolUse, "mcp__web__x", false);
        check(HookEvent::PostToolUse, "mcp__web__x", true);
        check(HookEvent::Elicitation, "web", false);
    });
}

#[test]
fn a_command_that_stands_twice_runs_once() {
    bounded(async {
        let folder = Folder::new();
        let twice = hook(HookEvent::PreToolUse, "echo run >> log");
        let named = matching(HookEvent::PreToolUse, "mcp__disk__delete", "echo run >> log");
        folder.hooks(&[twice, named]).pre_tool_use(&tool_use(&raw("{}"))).await;
        assert_eq!(folder.read("log"), "run\n");
    });
}

#[test]
fn a_matcher_that_cannot_be_read_asks_before_a_call_and_does_nothing_else() {
    bounded(async {
        let folder = Folder::new();
        let input = raw("{}");
        let (hooks, problems) = folder.hooks_and_problems(&[
            matching(HookEvent::PreToolUse, "mcp__(", "touch ran"),
            matching(HookEvent::PostToolUse, "mcp__(", "touch ran"),
            hook(HookEvent::PreToolUse, r#"echo '{"decision":"approve"}'"#),
        ]);
        let problems: Vec<_> = problems
            .iter()
            .map(|problem| {
                assert_eq!(problem.kind, EngineProblemKind::BadHook);
                (problem.item.as_deref().unwrap(), &*problem.message)
            })
            .collect();
        assert_eq!(
            problems,
            [
                (
                    "touch ran",
                    "the PreToolUse hook at settings.json:1:1 has a matcher that cannot be read, so every \
                     call is asked about: unclosed group"
                ),
                (
                    "touch ran",
                    "the PostToolUse hook at settings.json:2:1 has a matcher that cannot be read, so it \
                     never runs: unclosed group"
                ),
            ]
        );
        let before = hooks.pre_tool_use(&tool_use(&input)).await;
        let reason = "a hook cannot be understood, its matcher".to_owned();
        assert_eq!(before.verdict, HookVerdict::Ask { reason });
        assert_eq!(told(&before.notes), ["1 Unreadable: its matcher"]);
        assert!(!hooks.has(HookEvent::PostToolUse, "mcp__disk__delete"));
        let after = hooks.post_tool_use(&tool_use(&input), &raw("1")).await;
        assert_eq!(after, switchboard_core::hooks::PostToolUse::default());
        assert!(!folder.has("ran"));
    });
}

#[test]
fn one_that_cannot_be_read_does_not_stand_in_for_one_that_can() {
    bounded(async {
        let folder = Folder::new();
        let block = "echo no >&2; exit 2";
        let (hooks, _) = folder.hooks_and_problems(&[
            matching(HookEvent::PreToolUse, "mcp__(", block),
            hook(HookEvent::PreToolUse, block),
        ]);
        let outcome = hooks.pre_tool_use(&tool_use(&raw("{}"))).await;
        assert_eq!(outcome.verdict, HookVerdict::Deny { reason: "no".into() });
    });
}
