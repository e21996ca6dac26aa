//! Tests of hooks before a call.

use switchboard_config::HookEvent::PreToolUse;
use switchboard_core::permission::HookVerdict;

use super::{Folder, bounded, hook, raw, told, tool_use};

/// What several hooks make of a call together: verdict, input, context, notes.
async fn outcome(commands: &[&str]) -> (HookVerdict, Option<String>, Vec<String>, Vec<String>) {
    let folder = Folder::new();
    let hooks: Vec<_> = commands.iter().map(|command| hook(PreToolUse, command)).collect();
    let outcome = folder.hooks(&hooks).pre_tool_use(&tool_use(&raw(r#"{"a":1}"#))).await;
    let input = outcome.updated_input.map(|input| input.to_string());
    (outcome.verdict, input, outcome.context, told(&outcome.notes))
}

fn deny(reason: &str) -> HookVerdict {
    HookVerdict::Deny { reason: reason.into() }
}

fn ask(reason: &str) -> HookVerdict {
    HookVerdict::Ask { reason: reason.into() }
}

/// A command that answers with what stands in `hookSpecificOutput`.
fn says(specific: &str) -> String {
    format!(r#"echo '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse",{specific}}}}}'"#)
}

#[test]
fn every_way_to_decide() {
    bounded(async {
        let check = async |command: &str, expected: HookVerdict| {
            let (verdict, _, _, notes) = outcome(&[command]).await;
            assert_eq!((verdict, notes), (expected, vec![]), "{command}");
        };
        let reasoned = |word| {
            says(&format!(r#""permissionDecision":"{word}","permissionDecisionReason":"r""#))
        };
        check(&reasoned("allow"), HookVerdict::Allow).await;
        check(&reasoned("deny"), deny("r")).await;
        check(&reasoned("ask"), ask("r")).await;
        check(&reasoned("defer"), ask("a hook cannot be understood, it decides `defer`")).await;
        check(&says(r#""permissionDecision":"deny""#), deny("")).await;
        check(r#"echo '{"decision":"approve"}'"#, HookVerdict::Allow).await;
        check(r#"echo '{"decision":"block","reason":"old"}'"#, deny("old")).await;
        check(r#"echo '{"continue":false,"stopReason":"halt"}'"#, deny("halt")).await;
        check(
            r#"echo '{"continue":false,"stopReason":"halt","decision":"approve"}'"#,
            deny("halt"),
        )
        .await;
        // The new form counts where both stand.
        check(
            r#"echo '{"decision":"approve","reason":"old","hookSpecificOutput":{"permissionDecision":"deny"}}'"#,
            deny("old"),
        )
        .await;
        check("echo no >&2; exit 2", deny("no")).await;
        check("exit 2", deny("")).await;
        // Whoever exits with 2 has said it all.
        check(r#"echo '{"decision":"approve"}'; echo no >&2; exit 2"#, deny("no")).await;
        check("printf 'a\\033[31mb' >&2; exit 2", deny("a[31mb")).await;
        check("true", HookVerdict::None).await;
        check("echo looks fine", HookVerdict::None).await;
        check("echo '{}'", HookVerdict::None).await;
        check("echo '{\"suppressOutput\":true,\"unheardOf\":1}'", HookVerdict::None).await;
    });
}

#[test]
fn an_answer_that_cannot_be_read_asks() {
    bounded(async {
        let check = async |command: &str, what: &str| {
            let (verdict, input, _, notes) = outcome(&[command]).await;
            assert_eq!(verdict, ask(&format!("a hook cannot be understood, {what}")), "{command}");
            assert_eq!(notes, [format!("1 Unreadable: {what}")]);
            assert_eq!(input, None);
        };
        check(
            r#"echo '{"decision":'"#,
            "its answer: EOF while parsing a value at line 1 column 12",
        )
        .await;
        check(
            r#"echo '{"decision":"approve","decision":"block"}'"#,
            "its answer: duplicate field `decision` at line 1 column 32",
        )
        .await;
        check(
            r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}'"#,
            "its answer: it is for `PostToolUse`",
        )
        .await;
        check(
            &says(r#""permissionDecision":"allow","updatedInput":["x"]"#),
            "its answer: `updatedInput` is not an object",
        )
        .await;
        check(
            "head -c 1048577 /dev/zero | tr '\\0' '{'",
            "it wrote more than 1048576 bytes and was stopped",
        )
        .await;
    });
}

#[test]
fn the_strongest_word_counts_and_of_equals_the_first() {
    bounded(async {
        let allow = says(r#""permissionDecision":"allow""#);
        let ask_one = says(r#""permissionDecision":"ask","permissionDecisionReason":"one""#);
        let ask_two = says(r#""permissionDecision":"ask","permissionDecisionReason":"two""#);
        let block = "echo stop >&2; exit 2";
        let check = async |commands: &[&str], expected: HookVerdict| {
            assert_eq!(outcome(commands).await.0, expected, "{commands:?}");
        };
        check(&["true", &allow], HookVerdict::Allow).await;
        check(&[&allow, &ask_one, "true"], ask("one")).await;
        check(&[&ask_two, &ask_one, &allow], ask("two")).await;
        check(&[&allow, &ask_one, block], deny("stop")).await;
        check(&[block, &allow], deny("stop")).await;
    });
}

#[test]
fn the_last_input_counts_and_contexts_stay_in_order() {
    bounded(async {
        // The first to stand is the last to end.
        let slow = format!(
            "while [ ! -e done ]; do sleep 0.01; done; {}",
            says(r#""updatedInput":{"a":"first"},"additionalContext":"one""#)
        );
        let quick = format!(
            "{}; touch done",
            says(r#""updatedInput":{"b":2.0, "a":"second"},"additionalContext":"two""#)
        );
        let (verdict, input, context, notes) = outcome(&[&slow, "true", &quick]).await;
        assert_eq!(verdict, HookVerdict::None);
        assert_eq!(input.as_deref(), Some(r#"{"b":2.0, "a":"second"}"#));
        assert_eq!(context, ["one", "two"]);
        assert_eq!(notes, Vec::<String>::new());

        let refused = says(r#""permissionDecision":"deny","updatedInput":{"a":2}"#);
        assert_eq!(outcome(&[&refused]).await.1, None, "a call that is denied has no input");
    });
}

#[test]
fn a_message_is_passed_on() {
    bounded(async {
        let talking = r#"echo '{"systemMessage":"mind\u001b the gap"}'"#;
        let (verdict, _, _, notes) = outcome(&["true", talking]).await;
        assert_eq!((verdict, notes), (HookVerdict::None, vec!["2 Message: mind the gap".into()]));
    });
}

#[test]
fn a_hook_is_told_what_happens() {
    bounded(async {
        let folder = Folder::new();
        let command = r#"cat > seen; printf %s "$CLAUDE_PROJECT_DIR" > where; env > env"#;
        let input = raw(r#"{ "path": "/x", "size": 12345678901234567890 }"#);
        folder.hooks(&[hook(PreToolUse, command)]).pre_tool_use(&tool_use(&input)).await;
        let here = folder.read("where");
        assert_eq!(
            folder.read("seen").replace(&here, "HERE"),
            r#"{"session_id":"s-1","transcript_path":"","cwd":"HERE","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"mcp__disk__delete","tool_input":{ "path": "/x", "size": 12345678901234567890 },"tool_use_id":"call-1"}"#
        );
        assert!(!folder.read("env").contains("CARGO"), "a hook gets the environment it is given");
    });
}
