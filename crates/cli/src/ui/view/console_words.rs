//! The words of the terminal UI and of the permission questions, compared with those in the console's scripts.
//!
//! Used by `cargo test` only. The scripts are read as text; the browser tests of `tests/it/console.rs` run them.

use ratatui_core::text::Line;
use serde_json::{Value, json};
use switchboard_config::import::ClientApp;
use switchboard_core::audit::AuditCallLine;
use switchboard_core::permission::{PermissionAnswer, permission_sentence};

use super::page::Page;
use super::{calls, server};
use crate::show;
use crate::ui::app::Record;
use crate::ui::fixture::{api_fixture, model};

/// A script of the console, by name.
macro_rules! script {
    ($name:literal) => {
        include_str!(concat!("../../../../hub/console/", $name))
    };
}

const CALL_SCRIPTS: &str = concat!(script!("call.js"), script!("calls.js"));
const STATE_WORDS: &str = script!("server-state.js");
const PERMISSION_WORDS: &str = script!("permission-words.js");

#[test]
fn permission_questions_are_asked_in_the_same_words() {
    for answer in PermissionAnswer::ALL {
        let action = if answer.allows() { "allow" } else { "deny" };
        let (label, remember) = (answer.label(), answer.lifetime().word());
        let entry = format!("{{ label: '{label}', action: '{action}', remember: '{remember}'");
        assert!(PERMISSION_WORDS.contains(&entry), "{entry}");
    }
    assert_eq!(PERMISSION_WORDS.matches("{ label: ").count(), PermissionAnswer::ALL.len());
    let sentence = permission_sentence(None, "TOOL", "SERVER")
        .replace("A client", "${client || 'A client'}")
        .replace("TOOL", "${about.tool}")
        .replace("SERVER", "${server}");
    assert!(PERMISSION_WORDS.contains(&format!("`{sentence}`")), "{sentence}");
}

#[test]
fn clients_have_the_same_names() {
    for client in ClientApp::ALL {
        let name = client.name();
        let key = if name.contains('-') { format!("'{name}'") } else { name.to_owned() };
        let entry = format!("{key}: '{}'", client.display_name());
        assert!(script!("clients.js").contains(&entry), "{entry}");
    }
}

#[test]
fn states_have_the_same_words() {
    for state in ["needs-auth", "awaiting-approval", "pending"] {
        let word = format!("{state}: '{}'", show::state_word(state))
            .replace("needs-auth:", "'needs-auth':");
        let word = word.replace("awaiting-approval:", "'awaiting-approval':");
        assert!(STATE_WORDS.contains(&word), "{word}");
    }
    let silent = format!("silentSince ? '{}'", show::state_word("silent"));
    assert!(STATE_WORDS.contains(&silent), "{silent}");
}

#[test]
fn decisions_have_the_same_words() {
    let reasons = [
        "typed",
        "rule",
        "mode",
        "client",
        "person",
        "remembered",
        "hook",
        "classifier",
        "interaction",
        "built-in",
        "unclear-settings",
        "repeated-argument",
        "agent",
        "not-for-models",
        "not-for-apps",
        "not-lent",
        "nobody-asked",
    ];
    for by in reasons {
        let call = call(&json!({ "decision": "allow", "by": by }));
        let shown = calls::decided(&call);
        let words = shown.strip_prefix("allowed").unwrap();
        let key = if by.contains('-') { format!("'{by}'") } else { by.to_owned() };
        let entry = format!("{key}: '{words}'");
        assert!(CALL_SCRIPTS.contains(&entry), "{entry}");
    }
}

/// Every name of a fact is one of the console, but for those that only a terminal needs.
#[test]
fn facts_have_the_same_names() {
    let check = |lines: Vec<Line<'_>>, scripts: &str, own: &[&str]| {
        let names = lines.iter().filter(|line| line.spans.len() == 3);
        let names = names.map(|line| line.spans[0].content.trim()).filter(|name| !name.is_empty());
        let mut count = 0;
        for name in names.filter(|name| !own.contains(name) && name.parse::<u32>().is_err()) {
            assert!(scripts.contains(&format!("'{name}'")), "{name}");
            count += 1;
        }
        assert!(count > 5, "{count}");
    };
    let model = model((80, 24));
    for name in ["kiosk", "broken"] {
        let mut page = Page::new(80);
        server::page(&model, name, &mut page);
        // The console has a badge, a paragraph and a page of their own for these.
        let own = ["State", "Why", "What to do", "Memory"];
        check(page.lines(), script!("server.js"), &own);
    }
    let line = call(&json!({ "decision": "allow", "by": "rule", "rule": "x", "at": "y:1" }));
    let call = serde_json::from_value(serde_json::to_value(line).unwrap()).unwrap();
    let mut page = Page::new(80);
    calls::summary(&Record { call, said: None }, model.zone, &mut page);
    check(page.lines(), CALL_SCRIPTS, &[]);
}

/// The first call of the fixture, with other members.
fn call(members: &Value) -> AuditCallLine {
    let mut call = api_fixture("activity")[0].clone();
    for (name, value) in members.as_object().unwrap() {
        call[name] = value.clone();
    }
    serde_json::from_value(call).unwrap()
}
