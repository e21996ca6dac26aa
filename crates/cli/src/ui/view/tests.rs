//! Snapshots of every view and state of the UI, from recorded responses of the admin API and key presses.
//!
//! Used by `cargo test` only. It does not reach a hub; effects of keys are tested in `ui::app::tests`.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use serde_json::json;

use super::*;
use crate::ui::app::{CallUpdate, Effect, Event, LinkState, RequestFailure, RequestIntent};
use crate::ui::fixture::{api_fixture, model, press};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 34);
const HUGE: (u16, u16) = (200, 50);

/// The screen as text.
fn screen(model: &Model) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    draw(model, &mut buffer);
    text_of(&buffer)
}

fn text_of(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width.max(1));
    let row = |cells: &[ratatui_core::buffer::Cell]| {
        let mut line = String::new();
        let mut covered = 0;
        for cell in cells {
            // A wide letter covers the next cell too.
            if covered == 0 {
                line.push_str(cell.symbol());
                covered = text::wide(cell.symbol()).max(1);
            }
            covered -= 1;
        }
        line.trim_end().to_owned()
    };
    buffer.content.chunks(width).map(row).collect::<Vec<_>>().join("\n")
}

fn shown(size: (u16, u16), keys: &str) -> String {
    let mut model = model(size);
    press(&mut model, keys);
    screen(&model)
}

#[test]
fn views() {
    for (name, keys) in [
        ("servers", ""),
        ("tools", "2"),
        ("prompts", "3"),
        ("resources", "4"),
        ("questions", "5"),
        ("calls", "6"),
        ("problems", "7"),
    ] {
        insta::assert_snapshot!(format!("{name}"), shown(SMALL, keys));
        insta::assert_snapshot!(format!("{name}_large"), shown(LARGE, keys));
        insta::assert_snapshot!(format!("{name}_huge"), shown(HUGE, keys));
    }
}

#[test]
fn windows() {
    for (name, keys) in [
        ("help", "?"),
        ("server", "Enter"),
        ("server_failed", "Down Down Down Enter"),
        ("review", "Down Down Down Down a"),
        ("remove", "x"),
        ("json", "J"),
        ("add", "n"),
        ("tool", "2 Enter"),
        ("tool_choices", "2 Enter Tab Tab Right Tab Space Tab"),
        ("tool_wrong", "2 Enter \"x\" ^S"),
        ("prompt", "3 Enter"),
        ("resource", "4 Enter"),
        ("permission", "5 Enter"),
        ("form", "5 Down Enter"),
        ("page", "5 Down Down Enter"),
        ("call", "6 Down Enter"),
    ] {
        insta::assert_snapshot!(format!("window_{name}"), shown(SMALL, keys));
    }
    insta::assert_snapshot!("window_server_large", shown(LARGE, "Enter"));
    insta::assert_snapshot!("window_tool_large", shown(LARGE, "2 Enter"));
}

/// However a project tries to hide a part of its command, the review shows all of the command.
#[test]
fn a_review_leaves_nothing_out() {
    let hostile = [
        "GITHUB_TOKEN=x; touch CANARY; true".to_owned(),
        "curl -s https://ci.example/status;touch CANARY;: user@ci.example".to_owned(),
        "\u{1b}[2K\u{1b}[1Atouch CANARY".to_owned(),
        "touch CANARY\recho harmless".to_owned(),
        "echo \u{202e}\u{200b}; touch CANARY".to_owned(),
        format!("echo harmless{}; touch CANARY", " ".repeat(4_000)),
        format!("echo {}; touch CANARY", "a".repeat(900)),
    ];
    let review = |content: &serde_json::Value, changes: &serde_json::Value| {
        let case = json!({
            "kind": "server", "name": "x", "at": { "origin": "/p/.mcp.json", "line": 1 },
            "content": content, "changes": changes, "digest": "d",
        });
        let mut model = model((120, 400));
        model.known.approvals = vec![serde_json::from_value(case).unwrap()];
        model.windows.push(Window::new(WindowKind::Review { name: "x".to_owned() }));
        // Without borders and line breaks.
        let lines = screen(&model);
        let lines = lines.lines().map(|line| line.trim_matches(['│', ' ']).to_owned());
        lines.collect::<Vec<_>>().concat().replace(' ', "")
    };
    for text in hostile {
        let content = json!({
            "command": text, "args": ["--token", text], "env": { "TOKEN": text }, "url": text,
            "headers": { "Authorization": text }, "headersHelper": text, "cwd": text,
        });
        let changes = json!([{ "field": "command", "before": text, "after": "new" }]);
        for (content, seen) in [(&content, 10), (&json!(text), 3), (&json!({ "command": text }), 3)]
        {
            let shown = review(content, &changes);
            assert_eq!(shown.matches("touchCANARY").count(), seen, "{text:.200?}: {shown:.4000}");
            assert!(!shown.contains("****"), "{shown:.4000}");
            for (hidden, escape) in [('\u{1b}', "u001b"), ('\r', "\\r"), ('\u{202e}', "u202e")] {
                assert!(
                    !text.contains(hidden) || shown.contains(escape),
                    "{text:.200?}: {shown:.4000}"
                );
            }
        }
    }
}

/// A person must see which secrets they give.
#[test]
fn a_review_names_the_secrets_that_an_entry_gets() {
    let case = json!({
        "kind": "server", "name": "x", "at": { "origin": "/p/.mcp.json", "line": 1 },
        "content": { "command": "sh", "env": { "A": "${secret:DEPLOY_KEY}" } },
        "secrets": ["DB_PASSWORD", "DEPLOY_KEY"], "digest": "d",
    });
    let mut model = model((100, 40));
    model.known.approvals = vec![serde_json::from_value(case).unwrap()];
    model.windows.push(Window::new(WindowKind::Review { name: "x".to_owned() }));
    let shown = screen(&model);
    let line = shown.lines().find(|line| line.contains("Gets secrets"));
    assert!(line.is_some_and(|line| line.contains("DB_PASSWORD, DEPLOY_KEY")), "{shown}");
}

#[test]
fn lines() {
    for (name, keys) in [
        ("find", "2 / \"kiosk co\""),
        ("find_nothing", "2 / \"nowhere\" Enter"),
        ("summary", "s f f Space"),
        ("command", ": \"/mcp reco\" Tab"),
        ("ways", ": \"/mcp \" Tab"),
        ("unknown", ": \"/mcp explode\" Enter"),
    ] {
        insta::assert_snapshot!(format!("line_{name}"), shown(SMALL, keys));
    }
}

/// The ticket of the call in the effects.
fn ticket(effects: &[Effect]) -> u64 {
    let call = effects.iter().find_map(|effect| match effect {
        Effect::Call { ticket, .. } => Some(*ticket),
        _ => None,
    });
    call.expect("a call")
}

#[test]
fn calls() {
    let progress = json!({ "progressToken": 1, "progress": 3, "total": 8, "message": "at 3" });
    let content = json!([
        { "type": "text", "text": "Two teas.\nAnd nothing else." },
        { "type": "image", "mimeType": "image/png", "data": "aGVsbG8gd29ybGQ=" },
        { "type": "audio", "mimeType": "audio/wav", "data": "aGVsbG8=" },
        { "type": "resource_link", "name": "Receipt", "uri": "kiosk://receipt/1" },
    ]);
    let result = json!({ "content": content, "structuredContent": { "paid": true, "sum": 4.5 } });
    let hostile = json!({ "content": [{ "type": "text", "text": "\u{1b}[2J\u{202e}so\rld" }] });
    let wrong = RequestFailure {
        title: "the call was refused: a rule denies it".to_owned(),
        hint: Some("see `switchboard logs --audit`".to_owned()),
    };
    for (name, news) in [
        ("underway", vec![]),
        ("progress", vec![CallUpdate::Progress(progress)]),
        ("done", vec![CallUpdate::Done { result, note: None }]),
        (
            "error",
            vec![CallUpdate::Done {
                result: json!({ "isError": true, "content": [{ "type": "text", "text": "sold out" }] }),
                note: None,
            }],
        ),
        ("hostile", vec![CallUpdate::Done { result: hostile, note: None }]),
        ("failed", vec![CallUpdate::Failed(wrong)]),
    ] {
        let mut model = model(SMALL);
        let ticket = ticket(&press(&mut model, "2 Enter \"tea\" Tab \"2\" ^S"));
        for news in news {
            model.update(Event::Call { ticket, news });
        }
        insta::assert_snapshot!(format!("call_{name}"), timeless(&screen(&model)));
    }
    let mut model = model(SMALL);
    let ticket = ticket(&press(&mut model, "2 Enter \"tea\" Tab \"2\" ^S"));
    assert_eq!(press(&mut model, "^X"), [Effect::Cancel { ticket }]);
    insta::assert_snapshot!("call_cancelled", screen(&model));
}

/// However long the labels are, every choice is on the screen.
#[test]
fn no_choice_is_cut_off() {
    let choices: Vec<_> = (1..=30).map(|number| format!("choice number {number}")).collect();
    let long = "a choice that is much longer than a line of the form can be, so that it has to go on in the next line";
    let schema = json!({ "properties": {
        "one": { "enum": choices }, "several": { "type": "array", "items": { "enum": [long, "short"] } },
    } });
    let asked = json!({
        "id": "q9", "server": "kiosk",
        "about": { "kind": "elicitation", "params": { "message": "Which?", "requestedSchema": schema } },
    });
    let mut model = model((80, 40));
    model.known.questions = vec![serde_json::from_value(asked).unwrap()];
    press(&mut model, "5 Enter");
    let words = screen(&model).replace(['│', '\n'], " ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    for choice in choices.iter().map(String::as_str).chain([long, "short"]) {
        assert!(words.contains(choice), "{choice}: {words}");
    }
    // The actions at the bottom, too.
    for keys in ["", "1", "2", "5", "5 Enter", "7"] {
        let mut model = self::model(SMALL);
        press(&mut model, keys);
        let shown = screen(&model);
        for choice in choice_groups(&model).into_iter().flatten() {
            let label = format!("{} {}", choice.key, choice.label);
            assert!(shown.contains(&label), "{keys}: {label}: {shown}");
        }
    }
}

/// Replaces durations, which vary, by one that is as long as the line allows.
fn timeless(screen: &str) -> String {
    let line = |line: &str| {
        let words = ["done in ", "an error after "].iter().find(|words| line.contains(**words))?;
        let (before, after) = line.split_at(line.find(words)? + words.len());
        let width = text::wide(after) - text::wide("3 ms│");
        Some(format!("{before}3 ms{}│", " ".repeat(width)))
    };
    let lines = screen.lines().map(|text| line(text).unwrap_or_else(|| text.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn prompts_and_resources_are_read() {
    let messages = json!({ "messages": [
        { "role": "user", "content": { "type": "text", "text": "Dear Ada," } },
        { "role": "assistant", "content": { "type": "text", "text": "Thank you." } },
    ] });
    let contents = json!({ "contents": [
        { "uri": "docs://readme", "text": "# Read me" },
        { "uri": "docs://logo", "mimeType": "image/png", "blob": "aGVsbG8=" },
    ] });
    for (name, keys, result) in
        [("prompt", "3 Enter \"Ada\" ^S", messages), ("resource", "4 Enter ^S", contents)]
    {
        let mut model = model(SMALL);
        let ticket = ticket(&press(&mut model, keys));
        model.update(Event::Call { ticket, news: CallUpdate::Done { result, note: None } });
        insta::assert_snapshot!(format!("done_{name}"), timeless(&screen(&model)));
    }
}

#[test]
fn states_of_the_hub() {
    let mut model = model(SMALL);
    model.update(Event::Link(LinkState::Lost { why: "it has ended".to_owned() }));
    insta::assert_snapshot!("hub_lost", screen(&model));
    model.update(Event::Link(LinkState::Open));
    model.update(Event::Done {
        wish: RequestIntent::Say("kiosk is off".to_owned()),
        answer: Err(RequestFailure {
            title: "the file cannot be written".to_owned(),
            hint: Some("look at its rights".to_owned()),
        }),
    });
    insta::assert_snapshot!("hub_refuses", screen(&model));
    let empty =
        Model::new(SMALL, crate::ui::app::Notify::Nobody, crate::ui::input::History::default());
    insta::assert_snapshot!("hub_opening", screen(&empty));
}

#[test]
fn servers_are_signed_in_to_and_changed() {
    let mut model = model(SMALL);
    press(&mut model, "Down Down i");
    let answer = Ok(json!({ "url": "https://login.example/authorize?client=1&state=x" }));
    model.update(Event::Done {
        wish: RequestIntent::SignIn { server: "github".to_owned() },
        answer,
    });
    insta::assert_snapshot!("sign_in", screen(&model));
    assert_eq!(
        press(&mut model, "o"),
        [Effect::Open("https://login.example/authorize?client=1&state=x".to_owned())]
    );
    model.known.servers[2].state = "connected".to_owned();
    insta::assert_snapshot!("signed_in", screen(&model));
    press(&mut model, "Esc Up Up");

    let effects = press(&mut model, "c");
    assert!(
        matches!(&effects[..], [Effect::Ask(request)] if request.wish == RequestIntent::Entry { server: "kiosk".to_owned() })
    );
    let entry = json!({
        "name": "kiosk", "scope": "user", "writable": true, "at": api_fixture("servers")[0]["at"],
        "entry": { "command": "kiosk", "args": ["--token", "********"] },
    });
    model.update(Event::Done {
        wish: RequestIntent::Entry { server: "kiosk".to_owned() },
        answer: Ok(entry),
    });
    insta::assert_snapshot!("entry", screen(&model));
    press(&mut model, "Down End \"oops\" ^S");
    insta::assert_snapshot!("entry_wrong", screen(&model));
}

#[test]
fn logs_are_followed() {
    let mut model = model(SMALL);
    assert_eq!(press(&mut model, "l"), [Effect::Follow { server: "kiosk".to_owned() }]);
    let lines = (1..=60).map(|number| format!("2026-11-15T09:00:00.000Z line {number}")).collect();
    model.update(Event::Log { server: "kiosk".to_owned(), lines });
    insta::assert_snapshot!("log", screen(&model));
    press(&mut model, "g");
    assert!(screen(&model).contains("line 1\n") || screen(&model).contains("line 1 "));
    assert_eq!(press(&mut model, "Esc"), [Effect::Unfollow]);
}

#[test]
fn what_a_call_said_is_shown() {
    let mut model = model(LARGE);
    press(&mut model, "6 Down Enter");
    let answer = Ok(api_fixture("said"));
    model.update(Event::Done { wish: RequestIntent::CallContent { id: "7".to_owned() }, answer });
    insta::assert_snapshot!("window_call_said", screen(&model));
}

#[test]
fn top_shows_rates_of_servers_and_tools() {
    use crate::ui::top::{Top, table};
    for (name, size) in [("top", SMALL), ("top_large", LARGE)] {
        let mut top = Top::default();
        let now = std::time::Instant::now();
        let ago = now.checked_sub(std::time::Duration::from_secs(5)).unwrap();
        top.fetched(ago, Ok(table::tests::report(6_000, [40, 2])));
        top.fetched(now, Ok(table::tests::report(6_000, [40, 12])));
        insta::assert_snapshot!(name, top_screen(&top, size));
        top.fetched(now, Err("no hub is running".to_owned()));
        assert!(top_screen(&top, size).starts_with(" ✘ no hub is running; retrying"));
    }
    let report = table::tests::report(6_000, [40, 12]);
    let rows = table::rows(&report, None, 6_030, table::TopOrder::Calls);
    insta::assert_snapshot!("top_text", top::text(&rows).join("\n"));
    // However small a terminal is.
    for size in [(0, 0), (1, 1), (20, 3), (500, 8)] {
        let mut top = Top::default();
        top.fetched(std::time::Instant::now(), Ok(table::tests::report(6_000, [4, 2])));
        top_screen(&top, size);
    }
}

fn top_screen(of: &crate::ui::top::Top, size: (u16, u16)) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    top::draw(of, &mut buffer);
    text_of(&buffer)
}

#[test]
fn a_terminal_that_is_too_small_is_told() {
    for size in [(1, 1), (0, 0), (3, 2), (79, 24), (80, 23), (20, 5)] {
        let mut model = model(size);
        for keys in ["", "2 Enter", "Esc PgDn End", "? PgDn", "Esc : \"/mcp\""] {
            press(&mut model, keys);
            let shown = screen(&model);
            assert!(
                size.0 < 10
                    || size.1 < 4
                    || shown.contains("needs 80×24")
                    || shown.contains("this"),
                "{size:?} {shown}"
            );
        }
    }
    insta::assert_snapshot!("too_small", shown((40, 10), ""));
}

#[test]
fn ten_thousand_tools_are_as_quick_as_ten() {
    let item = |number: usize| {
        let item = json!({ "name": format!("tool {number}"), "description": "does it" });
        json!({ "name": format!("mcp__many__tool_{number}"), "server": "many", "item": item })
    };
    let tools: Vec<_> = (0..10_000).map(item).collect();
    let lists =
        json!({ "servers": [], "tools": tools, "prompts": [], "resources": [], "templates": [] });
    let lists: switchboard_core::catalog::RemoteCatalog = serde_json::from_value(lists).unwrap();
    let mut model = model(SMALL);
    model.update(Event::Listed(Box::new(crate::ui::app::Catalog::from(lists))));
    press(&mut model, "2 End");
    let rows = catalog::rows(&model, 9_981, 19, 80);
    assert_eq!(rows.len(), 19);
    assert!(screen(&model).contains("tool 9999"));
    press(&mut model, "/ \"tool 77\"");
    assert!(screen(&model).contains("find (280 of 10000): tool 77"), "{}", screen(&model));
}

#[test]
fn the_mouse_points() {
    let mut model = model(SMALL);
    let tab = screen(&model).lines().next().unwrap().find("Questions").unwrap();
    assert_eq!(spot(&model, u16::try_from(tab).unwrap(), 0), Some(Spot::Tab(View::Questions)));
    assert_eq!(spot(&model, 5, 4), Some(Spot::Row(2)));
    assert_eq!(spot(&model, 5, 19), None);
    let bar = screen(&model);
    let at = bar.lines().nth(20).unwrap().find("disable").unwrap();
    let choice = spot(&model, u16::try_from(at).unwrap(), 20);
    let disable = Act::Server(crate::ui::app::ServerAct::Disable, "kiosk".to_owned());
    assert_eq!(choice, Some(Spot::Choice(disable)));
    press(&mut model, "Enter");
    assert_eq!(spot(&model, 5, 4), None);
}

/// The screens in the guide are these snapshots. `INSTA_UPDATE=always` writes them.
#[test]
#[expect(clippy::disallowed_methods, reason = "the variable says whether to write the page")]
fn the_guide_shows_these_screens() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = root.join("../../docs/terminal-ui.md");
    let found = std::fs::read_to_string(&page).unwrap();
    let snapshot = |name: &str| {
        let file = format!("src/ui/view/snapshots/switchboard__ui__view__tests__{name}.snap");
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|_| panic!("{name}"));
        text.splitn(3, "---\n").nth(2).unwrap().to_owned()
    };
    let mut expected = String::new();
    let mut screens = SCREENS.iter();
    for (number, part) in found.split("```").enumerate() {
        if number > 0 {
            expected.push_str("```");
        }
        if part.starts_with("text\n") {
            expected.push_str("text\n");
            expected.push_str(&snapshot(screens.next().unwrap()));
        } else {
            expected.push_str(part);
        }
    }
    assert_eq!(screens.next(), None);
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        std::fs::write(&page, &expected).unwrap();
    } else {
        assert!(
            found == expected,
            "docs/terminal-ui.md is not current; run with INSTA_UPDATE=always"
        );
    }
}

/// In the order in which the guide shows them.
const SCREENS: [&str; 9] = [
    "servers",
    "window_help",
    "window_server",
    "window_review",
    "call_done",
    "window_permission",
    "window_page",
    "problems",
    "top",
];
