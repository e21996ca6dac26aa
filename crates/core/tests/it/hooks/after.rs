//! Tests of hooks after a call.

use switchboard_config::HookEvent::PostToolUse;

use super::{Folder, bounded, hook, raw, told, tool_use};

/// What is blocked, shown instead, said to the model and to the person.
async fn outcome(commands: &[&str]) -> (Option<String>, Option<String>, Vec<String>, Vec<String>) {
    let folder = Folder::new();
    let hooks: Vec<_> = commands.iter().map(|command| hook(PostToolUse, command)).collect();
    let response = raw(r#"{"content":[]}"#);
    let outcome = folder.hooks(&hooks).post_tool_use(&tool_use(&raw("{}")), &response).await;
    let output = outcome.updated_output.map(|output| output.to_string());
    (outcome.blocked, output, outcome.context, told(&outcome.notes))
}

#[test]
fn a_result_can_be_blocked_replaced_and_commented() {
    bounded(async {
        let check = async |commands: &[&str], blocked: Option<&str>, output: Option<&str>| {
            let found = outcome(commands).await;
            assert_eq!((found.0.as_deref(), found.1.as_deref()), (blocked, output), "{commands:?}");
        };
        let block = r#"echo '{"decision":"block","reason":"no"}'"#;
        let replace = |value: &str| {
            format!(r#"echo '{{"hookSpecificOutput":{{"updatedMCPToolOutput":{value}}}}}'"#)
        };
        check(&["true"], None, None).await;
        check(&["echo text"], None, None).await;
        check(&[block], Some("no"), None).await;
        check(&["echo bad >&2; exit 2", block], Some("bad"), None).await;
        check(&[r#"echo '{"continue":false,"stopReason":"halt"}'"#], Some("halt"), None).await;
        check(&[&replace(r#""one""#), &replace(r#"{"a": 1.0}"#)], None, Some(r#"{"a": 1.0}"#))
            .await;
        check(
            &[r#"echo '{"hookSpecificOutput":{"updatedToolOutput":"x"}}'"#, block],
            Some("no"),
            Some(r#""x""#),
        )
        .await;
    });
}

#[test]
fn context_is_for_the_model_and_failures_are_notes() {
    bounded(async {
        let one = r#"echo '{"hookSpecificOutput":{"additionalContext":"one"}}'"#;
        let two = r#"echo '{"decision":"block","hookSpecificOutput":{"additionalContext":"two"}}'"#;
        let (blocked, _, context, notes) = outcome(&[one, two, "exit 1", "echo '{'"]).await;
        assert_eq!((blocked.as_deref(), context), (Some(""), vec!["one".into(), "two".into()]));
        assert_eq!(
            notes,
            [
                "3 Failed: exited with status 1",
                "4 Unreadable: its answer: EOF while parsing an object at line 1 column 1"
            ]
        );
    });
}

#[test]
fn a_hook_is_told_the_result() {
    bounded(async {
        let folder = Folder::new();
        let hooks = folder.hooks(&[hook(PostToolUse, "sed 's/.*hook_event_name/{/' > seen")]);
        hooks.post_tool_use(&tool_use(&raw("{}")), &raw(r#"{"content": [1.0]}"#)).await;
        assert_eq!(
            folder.read("seen"),
            r#"{":"PostToolUse","tool_name":"mcp__disk__delete","tool_input":{},"tool_response":{"content": [1.0]},"tool_use_id":"call-1"}"#
        );
    });
}
