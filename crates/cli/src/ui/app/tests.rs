//! Tests of the UI's model: key presses in, effects and state out.
//!
//! Used by `cargo test` only. It does not draw: snapshots of the screen are in `ui::view::tests`.

use serde_json::{Value, json};

use super::*;
use crate::ui::fixture::{model, press};

const SIZE: (u16, u16) = (80, 24);

/// Effects as short texts.
fn said(effects: &[Effect]) -> Vec<String> {
    let said = effects.iter().map(|effect| match effect {
        Effect::Ask(Request { method, path, body, .. }) => {
            let path = match path {
                Path::Hub(path) => format!("/{path}"),
                Path::Workspace(path) => path.clone(),
            };
            let body = body.as_ref().map(|body| format!(" {body}")).unwrap_or_default();
            format!("{method:?} {path}{body}")
        }
        Effect::Call { body, .. } => {
            format!("call {} {}", body["method"].as_str().unwrap(), body["params"])
        }
        Effect::Cancel { .. } => "cancel".to_owned(),
        other => format!("{other:?}"),
    });
    said.collect()
}

#[test]
fn keys_become_requests() {
    for (keys, expected) in [
        ("d", &["Post servers/kiosk/disable"][..]),
        ("r", &["Post servers/kiosk/reconnect"]),
        ("e", &[]),
        (
            "End e",
            &[
                "Post servers/%E6%97%A5%E6%9C%AC%E8%AA%9E%E3%82%B5%E3%83%BC%E3%83%90%E3%83%BC/enable",
            ],
        ),
        ("Down o", &["Post servers/docs/sign-out"]),
        ("o", &[]),
        ("x", &[]),
        ("x Esc y", &[r#"Copy("kiosk --menu 'tea and cake'")"#]),
        ("x y", &["Delete servers/kiosk?scope=user"]),
        ("Enter d", &["Get servers/kiosk/processes", "Post servers/kiosk/disable"]),
        ("c", &["Get servers/kiosk"]),
        ("Down Down i", &["Post servers/github/sign-in"]),
        ("i", &[]),
        (
            "Down Down Down Down a a",
            &[r#"Post approvals {"name":"shelf","digest":"6f1e","verdict":"approve"}"#],
        ),
        (
            "Down Down Down Down a r",
            &[r#"Post approvals {"name":"shelf","digest":"6f1e","verdict":"reject"}"#],
        ),
        (
            "n \"https://example.com/mcp\" Tab \"new\" ^S",
            &[r#"Post servers {"scope":"local","name":"new","url":"https://example.com/mcp"}"#],
        ),
        (
            "n \"npx -y 'a b'\" Tab \"new\" Tab Right ^S",
            &[
                r#"Post servers {"scope":"project","name":"new","entry":{"command":"npx","args":["-y","a b"]}}"#,
            ],
        ),
        ("n ^S", &[]),
        (
            "2 Enter \"tea\" Tab \"2\" Tab Right Tab Space Right Space Tab Right Enter \"{}\" Enter Enter",
            &[
                r#"call tools/call {"name":"mcp__kiosk__order","arguments":{"what":"tea","count":2,"size":"large","extras":["milk","sugar"],"wrapped":true,"note":{}}}"#,
            ],
        ),
        (
            "2 Enter \"tea\" Tab \"2\" ^S Esc",
            &[
                r#"call tools/call {"name":"mcp__kiosk__order","arguments":{"what":"tea","count":2,"size":"small"}}"#,
                "cancel",
            ],
        ),
        ("2 Enter \"t\" ^S", &[]),
        ("2 Enter \"tea\" Tab \"x\" ^S", &[]),
        ("3 Enter ^S", &[]),
        ("4 Down Enter ^S", &[r#"call resources/read {"uri":"kiosk://menu"}"#]),
        ("5 End x", &["Delete /answers/9b7d3e01"]),
        ("5 End Up x", &["Delete /answers/1f0c22aa"]),
        ("5 End Enter", &[]),
        ("5 x", &[]),
        ("5 Enter o", &[r#"Post /questions/q1 {"action":"allow","remember":"once"}"#]),
        ("5 Enter s", &[r#"Post /questions/q1 {"action":"allow","remember":"session"}"#]),
        ("5 Enter p", &[r#"Post /questions/q1 {"action":"allow","remember":"project"}"#]),
        ("5 Enter a", &[r#"Post /questions/q1 {"action":"allow","remember":"always"}"#]),
        ("5 Enter d", &[r#"Post /questions/q1 {"action":"deny","remember":"once"}"#]),
        ("5 Enter n", &[r#"Post /questions/q1 {"action":"deny","remember":"never"}"#]),
        (
            "5 Down Enter \"Ada\" Tab 2 ^S",
            &[r#"Post /questions/q2 {"action":"accept","content":{"name":"Ada","colour":"g"}}"#],
        ),
        ("5 Down Enter \"A\" Tab 2 ^S", &[]),
        ("5 Down Enter ^D", &[r#"Post /questions/q2 {"action":"decline"}"#]),
        ("5 Down Enter ^X", &[r#"Post /questions/q2 {"action":"cancel"}"#]),
        (
            "5 Down Down Enter o",
            &[
                r#"Post /questions/q3 {"action":"accept"}"#,
                r#"Open("http://xn--pay-8ka.example/checkout?id=1")"#,
            ],
        ),
        ("5 Down Down Enter c", &[r#"Post /questions/q3 {"action":"cancel"}"#]),
        ("7 Down r", &["Post servers/broken/reconnect"]),
        ("q", &["Quit"]),
        ("2 Enter q", &[]),
        ("? q", &[]),
        ("^C", &["Quit"]),
        ("2 Enter ^C", &["Quit"]),
        ("^Z", &["Suspend"]),
        ("^L", &["Redraw"]),
    ] {
        assert_eq!(said(&press(&mut model(SIZE), keys)), expected, "{keys}");
    }
}

#[test]
fn rows_are_marked_and_copied() {
    for (keys, expected) in [
        // Several servers at once; only those in whose state the action is possible.
        (
            "Space Space End Space d",
            &["Post servers/kiosk/disable", "Post servers/docs/disable"][..],
        ),
        ("Space Up Space r", &["Post servers/docs/reconnect"]),
        ("Space Esc r", &["Post servers/docs/reconnect"]),
        // The clipboard.
        ("y", &[r#"Copy("kiosk --menu 'tea and cake'")"#]),
        ("Down y", &[r#"Copy("https://docs.example/mcp")"#]),
        ("Space Space y", &[r#"Copy("kiosk --menu 'tea and cake'\nhttps://docs.example/mcp")"#]),
        ("2 y", &[r#"Copy("mcp__kiosk__order")"#]),
        ("3 y", &[r#"Copy("/mcp__kiosk__letter")"#]),
        ("5 Down Down y", &[r#"Copy("http://xn--pay-8ka.example/checkout?id=1")"#]),
        ("5 Enter y", &[r#"Copy("mcp__kiosk__order")"#]),
        ("6 y", &[r#"Copy("docs://readme")"#]),
    ] {
        assert_eq!(said(&press(&mut model(SIZE), keys)), expected, "{keys}");
    }
}

/// The titles of the rows in their order.
fn rows(keys: &str) -> Vec<String> {
    let mut model = model(SIZE);
    press(&mut model, keys);
    model.row_keys()
}

#[test]
fn lists_are_sorted_filtered_and_searched() {
    for (keys, expected) in [
        ("", &["kiosk", "docs", "github", "broken", "shelf", "日本語サーバー"][..]),
        ("s", &["broken", "docs", "github", "kiosk", "shelf", "日本語サーバー"]),
        ("s s", &["broken", "github", "shelf", "kiosk", "docs", "日本語サーバー"]),
        ("s s s", &["kiosk", "docs", "github", "broken", "shelf", "日本語サーバー"]),
        ("s s s s", &["kiosk", "docs", "github", "broken", "shelf", "日本語サーバー"]),
        ("s Esc", &["kiosk", "docs", "github", "broken", "shelf", "日本語サーバー"]),
        ("f", &["shelf"]),
        ("f f", &["kiosk", "docs"]),
        ("f f f f f f", &["kiosk", "docs", "github", "broken", "shelf", "日本語サーバー"]),
        ("/ \"docs.example\"", &["docs"]),
        (
            "/ \"docs.example\" Enter Esc",
            &["kiosk", "docs", "github", "broken", "shelf", "日本語サーバー"],
        ),
        (
            "2 s s",
            &[
                "mcp__kiosk__order",
                "mcp__kiosk__count",
                "mcp__github__authenticate",
                "mcp__kiosk__open",
            ],
        ),
        (
            "2 s s s",
            &[
                "mcp__kiosk__count",
                "mcp__kiosk__order",
                "mcp__kiosk__open",
                "mcp__github__authenticate",
            ],
        ),
        ("5 / \"pay\"", &["q3"]),
        (
            "6 s",
            &[
                "2026-11-15T09:01:30.000Z mcp__kiosk__order",
                "2026-11-15T09:00:00.000Z mcp__kiosk__count",
                "2026-11-15T09:02:00.000Z docs://readme",
            ],
        ),
        ("6 f", &["2026-11-15T09:01:30.000Z mcp__kiosk__order"]),
        ("7 / \"crooked\"", &["kiosk · crooked"]),
    ] {
        assert_eq!(rows(keys), expected, "{keys}");
    }
}

/// A row that moves, or news of the hub, must not put another server under the key that is pressed next.
#[test]
fn the_cursor_stays_on_its_row() {
    let mut model = model(SIZE);
    press(&mut model, "Down Down s");
    assert_eq!(model.chosen_server(), Some("github"));
    press(&mut model, "6 Down Down");
    let chosen = model.chosen_key();
    let mut latest = model.known.calls[0].clone();
    latest.line.time = "2026-11-15T09:03:00.000Z".to_owned();
    model.update(Event::Called(Box::new(latest)));
    assert_eq!(model.chosen_key(), chosen);
    assert_eq!(model.known.calls.len(), 4);
}

#[test]
fn focus_starts_in_the_first_field_and_tab_wraps() {
    let focus = |keys: &str| {
        let mut model = model(SIZE);
        press(&mut model, keys);
        let Some(Window { kind: WindowKind::Form(form), .. }) = model.window() else { panic!() };
        form.focus
    };
    for (keys, expected) in [
        ("2 Enter", 0),
        // With what was filled in before, too.
        ("2 Enter \"tea\" Tab \"2\" ^S Esc Enter", 0),
        ("n Tab Tab Tab", 3),
        ("n Tab Tab Tab Tab", 0),
        ("n BackTab", 3),
        ("n BackTab BackTab", 2),
    ] {
        assert_eq!(focus(keys), expected, "{keys}");
    }
}

/// Without a hub nothing is connected, and nothing can be asked of it.
#[test]
fn without_a_hub_nothing_is_connected() {
    let mut model = model(SIZE);
    model.update(Event::Link(LinkState::Lost { why: "it has ended".to_owned() }));
    assert!(model.known.servers.iter().all(|server| server.state == "unknown"));
    assert!(model.known.servers.iter().all(|server| server.stats.is_none()));
    for keys in ["r", "d", "Enter", "Space d", "7 Enter", "5 Enter"] {
        assert_eq!(press(&mut model, keys), [], "{keys}");
        press(&mut model, "Esc 1");
    }
    assert_eq!(press(&mut model, "S"), [Effect::StartHub]);
}

#[test]
fn rows_and_windows_are_shown_as_json() {
    for (keys, member) in [
        ("J", r#""name": "kiosk""#),
        ("Enter J", r#""name": "kiosk""#),
        ("2 J", r#""inputSchema""#),
        ("5 J", r#""kind": "permission""#),
        ("5 End J", r#""tool": "create_issue""#),
        ("6 Down J", r#""outcome": "denied""#),
        ("7 End J", r#""quarantined""#),
    ] {
        let mut model = model(SIZE);
        press(&mut model, keys);
        let Some(WindowKind::Json { text, .. }) = model.window().map(|window| &window.kind) else {
            panic!("{keys}");
        };
        assert!(text.contains(member), "{keys}: {text}");
        assert_eq!(press(&mut model, "y"), [Effect::Copy(text_of(&model))], "{keys}");
    }
}

fn text_of(model: &Model) -> String {
    match model.window().map(|window| &window.kind) {
        Some(WindowKind::Json { text, .. }) => text.clone(),
        _ => String::new(),
    }
}

#[test]
fn a_call_is_copied_as_a_command() {
    let mut model = model(SIZE);
    press(&mut model, "6 Down Enter");
    let answer = Ok(crate::ui::fixture::api_fixture("said"));
    model.update(Event::Done { wish: RequestIntent::CallContent { id: "7".to_owned() }, answer });
    let [Effect::Copy(command)] = &press(&mut model, "y")[..] else { panic!() };
    let start = r#"switchboard call mcp__kiosk__order '{"what":"tea","count":2,"#;
    assert!(command.starts_with(start), "{command}");
}

#[test]
fn lines_become_requests() {
    let read = r#"call resources/read {"uri":"docs://readme"}"#;
    let letter = r#"call prompts/get {"name":"mcp__kiosk__letter","arguments":{"to":"Ada L.","tone":"warm"}}"#;
    for (keys, expected) in [
        (": \"/mcp\" Enter", &[][..]),
        (": \"/mcp disable kiosk\" Enter", &["Post servers/kiosk/disable"]),
        (": \"/mcp reconnect docs\" Enter", &["Post servers/docs/reconnect"]),
        (": \"mcp reconnect docs\" Enter", &["Post servers/docs/reconnect"]),
        (": \"/mcp reconnect nowhere\" Enter", &[]),
        (
            ": \"/mcp enable all\" Enter",
            &[
                "Post servers/%E6%97%A5%E6%9C%AC%E8%AA%9E%E3%82%B5%E3%83%BC%E3%83%90%E3%83%BC/enable",
            ],
        ),
        (
            ": \"/mcp disable\" Enter",
            &[
                "Post servers/kiosk/disable",
                "Post servers/docs/disable",
                "Post servers/github/disable",
                "Post servers/broken/disable",
                "Post servers/shelf/disable",
            ],
        ),
        (": \"/mcp__kiosk__letter 'Ada L.' warm\" Enter", &[letter]),
        (": \"/mcp__kiosk__letter\" Enter", &[]),
        (": \"/mcp__kiosk__nothing\" Enter", &[]),
        ("@ \"docs:docs://readme\" Enter", &[read]),
        ("@ \"d\" Tab Tab Enter", &[read]),
        ("@ \"nowhere:x\" Enter", &[]),
        (": \"/mc\" Esc", &[]),
        (": \"quit\" Enter", &["Quit"]),
        // The previous line comes back.
        (
            ": \"/mcp reconnect docs\" Enter : Up Enter",
            &["Post servers/docs/reconnect", "Post servers/docs/reconnect"],
        ),
    ] {
        let mut said = said(&press(&mut model(SIZE), keys));
        said.retain(|said| !said.starts_with("Remember"));
        assert_eq!(said, expected, "{keys}");
    }
}

#[test]
fn lines_are_completed() {
    for (line, expected) in [
        ("/m", &["/mcp", "/mcp__kiosk__letter "][..]),
        ("/mcp e", &["/mcp enable "]),
        ("/mcp reconnect ki", &["/mcp reconnect kiosk"]),
        ("/mcp disable a", &["/mcp disable all"]),
        ("/mcp reconnect a", &[]),
        ("mcp reconnect ki", &["mcp reconnect kiosk"]),
        ("@ki", &["@kiosk:"]),
        ("@kiosk:", &["@kiosk:kiosk://menu", "@kiosk:kiosk://thing/{name}"]),
        ("hello", &[]),
    ] {
        assert_eq!(crate::ui::input::complete(line, &model(SIZE).known), expected, "{line}");
    }
}

#[test]
fn values_are_completed_one_question_at_a_time() {
    let mut model = model(SIZE);
    let effects = press(&mut model, "3 Enter \"A\"");
    let [Effect::Call { ticket, body, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(body["params"]["argument"], json!({ "name": "to", "value": "A" }));
    // The next letter waits for the response, and is sent after it.
    assert_eq!(press(&mut model, "d"), []);
    let result = json!({ "completion": { "values": ["Ada", "Alan"] } });
    let news = CallUpdate::Done { result: result.clone(), note: None };
    let effects = model.update(Event::Call { ticket: *ticket, news });
    let [Effect::Call { ticket, body, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(body["params"]["argument"]["value"], "Ad");
    assert_eq!(body["params"]["context"], Value::Null, "nothing else is known");
    let news = CallUpdate::Done { result, note: None };
    assert_eq!(model.update(Event::Call { ticket: *ticket, news }), []);
    press(&mut model, "^N ^N");
    let Some(Window { kind: WindowKind::Form(form), .. }) = model.window() else { panic!() };
    assert_eq!(form.texts(), ["Alan", ""]);
    // The other fields go with the request as context.
    let effects = press(&mut model, "Tab \"B\"");
    let [.., Effect::Call { body, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(body["params"]["argument"], json!({ "name": "tone", "value": "B" }));
    assert_eq!(body["params"]["context"], json!({ "arguments": { "to": "Alan" } }));
}

#[test]
fn questions_come_and_go() {
    let asked: WaitingQuestion = serde_json::from_value(json!({
        "id": "q9", "server": "kiosk",
        "about": { "kind": "permission", "tool": "t", "arguments": {}, "allow": "t" },
    }))
    .unwrap();
    let mut model = model(SIZE);
    assert_eq!(model.update(Event::Question(asked.clone())), []);
    assert_eq!(model.update(Event::Question(asked.clone())), []);
    assert_eq!(model.known.questions.len(), 4);
    // Another client answers the question that is open.
    press(&mut model, "5 Down Down Down Enter");
    assert!(model.window().is_some());
    model.update(Event::Answered { id: "q9".to_owned() });
    assert!(model.window().is_none());
    assert_eq!(model.known.questions.len(), 3);
    // With notifications on, a new question raises one.
    model.notify = Notify::Desktop;
    let told = [Effect::Notify("Switchboard: kiosk has a question".to_owned())];
    assert_eq!(model.update(Event::Question(asked)), told);
}

#[test]
fn a_question_of_our_own_call_is_put_at_once() {
    let mut model = model(SIZE);
    let effects = press(&mut model, "2 Down Down Enter Enter");
    let [Effect::Call { ticket, .. }] = effects[..] else { panic!("{effects:?}") };
    let schema = json!({ "properties": { "name": { "type": "string" } } });
    let params = json!({ "message": "Who?", "requestedSchema": schema });
    let asked: WaitingQuestion = serde_json::from_value(json!({
        "id": "c1", "server": "kiosk", "about": { "kind": "elicitation", "params": params },
    }))
    .unwrap();
    model.update(Event::Call { ticket, news: CallUpdate::Question(asked) });
    let effects = press(&mut model, "\"Ada\" ^S");
    let answer = r#"Post /questions/c1 {"action":"accept","content":{"name":"Ada"}}"#;
    assert_eq!(said(&effects), [answer]);
    // The call goes on in the window below.
    model
        .update(Event::Call { ticket, news: CallUpdate::Done { result: Value::Null, note: None } });
    let Some(Window { kind: WindowKind::Form(form), .. }) = model.window() else { panic!() };
    assert!(matches!(form.calling, Some(TrackedCall { state: CallState::Done { .. }, .. })));
}

#[test]
fn a_call_is_repeated_with_what_was_filled_in() {
    let mut model = model(SIZE);
    let first = said(&press(&mut model, "2 Enter \"tea\" Tab \"2\" ^S"));
    press(&mut model, "Esc 6 Down");
    let again = said(&press(&mut model, "r ^S"));
    assert_eq!(first, again);
}

#[test]
fn a_call_is_repeated_as_the_hub_knows_it() {
    let mut model = model(SIZE);
    assert_eq!(said(&press(&mut model, "6 Down Enter")), ["Get /activity/7"]);
    let answer = Ok(crate::ui::fixture::api_fixture("said"));
    model.update(Event::Done { wish: RequestIntent::CallContent { id: "7".to_owned() }, answer });
    let effects = press(&mut model, "r ^S");
    let [Effect::Call { repeats, body, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(repeats.as_deref(), Some("7"));
    assert_eq!(body["params"], crate::ui::fixture::api_fixture("said")["params"]);
}

#[test]
fn what_the_hub_refuses_is_said_beside_it() {
    let mut model = model(SIZE);
    press(&mut model, "n \"npx x\" ^S");
    let wrong = RequestFailure { title: "a name is needed".to_owned(), hint: None };
    model.update(Event::Done { wish: RequestIntent::Add, answer: Err(wrong) });
    let Some(Window { kind: WindowKind::Form(form), .. }) = model.window() else { panic!() };
    assert_eq!(form.problem.as_deref(), Some("a name is needed"));
    let added = json!({ "added": [{ "name": "x" }] });
    model.update(Event::Done { wish: RequestIntent::Add, answer: Ok(added) });
    assert!(model.window().is_none());
    assert_eq!(model.notice, Some(Notice::Good("added x".to_owned())));
}

#[test]
fn who_signs_out_is_told_what_became_of_it() {
    let signed_out = |is: bool, problem: Value| json!({ "signedOut": is, "problem": problem });
    for (told, expected) in [
        (signed_out(true, Value::Null), Notice::Good("signed out of docs".to_owned())),
        (signed_out(false, Value::Null), Notice::Good("you were not signed in to docs".to_owned())),
        (
            signed_out(true, json!("its tokens may still be accepted: 503")),
            Notice::Bad("signed out of docs, but its tokens may still be accepted: 503".to_owned()),
        ),
    ] {
        let mut model = model(SIZE);
        model.update(Event::Done {
            wish: RequestIntent::SignOut { server: "docs".to_owned() },
            answer: Ok(told),
        });
        assert_eq!(model.notice, Some(expected));
    }
}

#[test]
fn a_paste_is_no_command() {
    let mut model = model(SIZE);
    assert_eq!(model.update(Event::Paste("dq\n".to_owned())), []);
    press(&mut model, "n");
    model.update(Event::Paste("{\"mcpServers\":\n{\"a\": {\"command\": \"x\"}}}".to_owned()));
    let effects = said(&press(&mut model, "^S"));
    let snippet = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let body = json!({ "scope": "local", "snippet": snippet });
    assert_eq!(effects, [format!("Post servers {body}")]);
}
