//! Tests of hooks before a permission question.

use switchboard_config::HookEvent::PermissionRequest;
use switchboard_core::hooks::PermissionAnswer;
use switchboard_core::permission::DecisionReason;

use super::{Folder, bounded, hook, raw, told, tool_use};

async fn answer(commands: &[&str]) -> (Option<PermissionAnswer>, Vec<String>) {
    let folder = Folder::new();
    let hooks: Vec<_> = commands.iter().map(|command| hook(PermissionRequest, command)).collect();
    let because = DecisionReason::Interaction;
    let input = raw("{}");
    let outcome = folder.hooks(&hooks).permission_request(&tool_use(&input), &because).await;
    (outcome.answer, told(&outcome.notes))
}

fn decides(decision: &str) -> String {
    format!(r#"echo '{{"hookSpecificOutput":{{"decision":{decision}}}}}'"#)
}

fn allow(input: Option<&str>) -> PermissionAnswer {
    PermissionAnswer::Allow { updated_input: input.map(raw) }
}

fn deny(reason: &str) -> PermissionAnswer {
    PermissionAnswer::Deny { reason: reason.into() }
}

#[test]
fn a_hook_may_answer_in_place_of_a_person() {
    bounded(async {
        let check = async |commands: &[&str], expected: Option<PermissionAnswer>| {
            assert_eq!(answer(commands).await, (expected, vec![]), "{commands:?}");
        };
        let yes = decides(r#"{"behavior":"allow"}"#);
        let no = decides(r#"{"behavior":"deny","message":"not today","interrupt":true}"#);
        let changed = decides(r#"{"behavior":"allow","updatedInput":{"a": 1}}"#);
        check(&["true"], None).await;
        check(&["echo yes"], None).await;
        check(&[&yes], Some(allow(None))).await;
        check(&[&yes, &changed, "true"], Some(allow(Some(r#"{"a": 1}"#)))).await;
        check(&[&no], Some(deny("not today"))).await;
        check(&[&no, &yes], Some(deny("not today"))).await;
        check(&[&yes, &no], Some(deny("not today"))).await;
        check(&[&yes, "echo stop >&2; exit 2"], Some(deny("stop"))).await;
    });
}

#[test]
fn what_cannot_be_read_leaves_it_to_the_person() {
    bounded(async {
        let (found, notes) = answer(&[&decides(r#"{"behavior":"maybe"}"#), "exit 1"]).await;
        assert_eq!(found, None);
        assert_eq!(
            notes,
            [
                "1 Unreadable: its answer: unknown variant `maybe`, expected `allow` or `deny` at line 1 \
                 column 53",
                "2 Failed: exited with status 1"
            ]
        );
        let (found, _) = answer(&[&decides(r#"{"behavior":"allow","updatedInput":1}"#)]).await;
        assert_eq!(found, None);
    });
}

#[test]
fn a_hook_is_told_why() {
    bounded(async {
        let folder = Folder::new();
        let hooks = folder.hooks(&[hook(PermissionRequest, "sed 's/.*hook_event_name/{/' > seen")]);
        hooks.permission_request(&tool_use(&raw("{}")), &DecisionReason::Interaction).await;
        assert_eq!(
            folder.read("seen"),
            r#"{":"PermissionRequest","tool_name":"mcp__disk__delete","tool_input":{},"tool_use_id":"call-1","reason":"the tool wants a person to look at each call"}"#
        );
    });
}
