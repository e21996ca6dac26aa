//! Tests of hooks around an elicitation.

use switchboard_config::{EffectiveHook, HookEvent, PermissionMode};
use switchboard_core::hooks::{
    ElicitationAction, ElicitationAnswer, HookElicitation, HookElicitationKind,
};
use switchboard_wire::json::Raw;

use super::{Folder, bounded, hook, raw, told};

fn form(schema: &Raw) -> HookElicitation<'_> {
    HookElicitation {
        session: "s-1",
        mode: PermissionMode::Plan,
        server: "disk",
        message: "Which one?",
        kind: HookElicitationKind::Form { schema },
        id: None,
    }
}

fn answer(action: ElicitationAction, content: Option<&str>) -> ElicitationAnswer {
    ElicitationAnswer { action, content: content.map(raw) }
}

fn says(specific: &str) -> String {
    format!(r#"echo '{{"hookSpecificOutput":{{{specific}}}}}'"#)
}

async fn asked(commands: &[&str]) -> (Option<ElicitationAnswer>, Vec<String>) {
    let folder = Folder::new();
    let event = HookEvent::Elicitation;
    let hooks: Vec<_> = commands.iter().map(|command| hook(event, command)).collect();
    let outcome = folder.hooks(&hooks).elicitation(&form(&raw("{}"))).await;
    (outcome.answer, told(&outcome.notes))
}

async fn answered(commands: &[&str], given: &ElicitationAnswer) -> Option<ElicitationAnswer> {
    let folder = Folder::new();
    let event = HookEvent::ElicitationResult;
    let hooks: Vec<_> = commands.iter().map(|command| hook(event, command)).collect();
    folder.hooks(&hooks).elicitation_result(&form(&raw("{}")), given).await.answer
}

#[test]
fn a_hook_may_answer_a_question() {
    bounded(async {
        let check = async |commands: &[&str], expected: Option<ElicitationAnswer>| {
            assert_eq!(asked(commands).await, (expected, vec![]), "{commands:?}");
        };
        let accept = says(r#""hookEventName":"Elicitation","action":"accept","content":{"n":1.0}"#);
        let again = says(r#""action":"accept","content":{"n":2}"#);
        let cancel = says(r#""action":"cancel","content":{"n":2}"#);
        let decline = says(r#""action":"decline""#);
        check(&["true"], None).await;
        check(&[&says(r#""content":{"n":1}"#)], None).await;
        check(&[&accept], Some(answer(ElicitationAction::Accept, Some(r#"{"n":1.0}"#)))).await;
        check(&[&accept, &again], Some(answer(ElicitationAction::Accept, Some(r#"{"n":2}"#))))
            .await;
        check(&[&cancel, &accept], Some(answer(ElicitationAction::Cancel, None))).await;
        check(&[&accept, &decline, &cancel], Some(answer(ElicitationAction::Decline, None))).await;
        check(&[&accept, "exit 2"], Some(answer(ElicitationAction::Decline, None))).await;
    });
}

#[test]
fn a_block_says_why_and_an_unreadable_answer_leaves_it_to_the_person() {
    bounded(async {
        let (found, notes) = asked(&["echo never >&2; exit 2"]).await;
        assert_eq!(found, Some(answer(ElicitationAction::Decline, None)));
        assert_eq!(notes, ["1 Message: never"]);
        let (found, notes) = asked(&[&says(r#""action":"shrug""#)]).await;
        assert_eq!((found, notes.len()), (None, 1));
        assert!(notes[0].starts_with("1 Unreadable: its answer: unknown variant `shrug`"));
    });
}

#[test]
fn a_hook_may_change_an_answer() {
    bounded(async {
        let given = answer(ElicitationAction::Accept, Some(r#"{"n":1}"#));
        let check = async |commands: &[&str], expected: Option<ElicitationAnswer>| {
            assert_eq!(answered(commands, &given).await, expected, "{commands:?}");
        };
        check(&["true", "exit 1"], None).await;
        let replace = says(r#""content":{"n":2}"#);
        check(&[&replace], Some(answer(ElicitationAction::Accept, Some(r#"{"n":2}"#)))).await;
        let same = says(r#""action":"accept""#);
        check(&[&same], Some(given.clone())).await;
        check(&[&says(r#""action":"decline""#)], Some(answer(ElicitationAction::Decline, None)))
            .await;
        check(&["exit 2", &replace], Some(answer(ElicitationAction::Decline, None))).await;
    });
}

#[test]
fn a_hook_is_told_the_question_and_the_answer() {
    bounded(async {
        let folder = Folder::new();
        let named =
            |event, command| EffectiveHook { matcher: Some("disk".into()), ..hook(event, command) };
        let hooks = folder.hooks(&[
            named(HookEvent::Elicitation, "sed 's/.*permission_mode/{/' > asked"),
            named(HookEvent::ElicitationResult, "sed 's/.*permission_mode/{/' > answered"),
        ]);
        let schema = raw(r#"{"type": "object"}"#);
        hooks.elicitation(&form(&schema)).await;
        assert_eq!(
            folder.read("asked"),
            r#"{":"plan","hook_event_name":"Elicitation","mcp_server_name":"disk","message":"Which one?","mode":"form","requested_schema":{"type": "object"}}"#
        );
        hooks
            .elicitation_result(
                &form(&schema),
                &answer(ElicitationAction::Accept, Some("{\"n\":1.0}")),
            )
            .await;
        assert_eq!(
            folder.read("answered"),
            r#"{":"plan","hook_event_name":"ElicitationResult","mcp_server_name":"disk","mode":"form","action":"accept","content":{"n":1.0}}"#
        );
        let page = HookElicitation {
            kind: HookElicitationKind::Url { url: "https://example.com/" },
            id: Some("e-1"),
            ..form(&schema)
        };
        hooks.elicitation(&page).await;
        assert_eq!(
            folder.read("asked"),
            r#"{":"plan","hook_event_name":"Elicitation","mcp_server_name":"disk","message":"Which one?","mode":"url","url":"https://example.com/","elicitation_id":"e-1"}"#
        );
    });
}
