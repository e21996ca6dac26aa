//! Test data of the UI: a model filled with responses of the admin API, and key presses by name.
//!
//! Used by the tests of `app` and `view`.

use chrono::FixedOffset;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;
use switchboard_core::traffic::TrafficReport;

use super::app::{
    Catalog, Effect, Event, LinkState, Model, Notify, PastCall, RequestIntent, ServersUpdate,
};
use super::input::History;
use crate::units::DisplayZone;

/// The recorded response of the API with this name.
pub(super) fn api_fixture(what: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("fixture.json")).unwrap();
    all[what].clone()
}

fn read<T: serde::de::DeserializeOwned>(what: &str) -> T {
    serde_json::from_value(api_fixture(what)).unwrap()
}

/// Calls of `kiosk` and `docs` in the last hour, more and slower ones towards its end.
fn traffic() -> TrafficReport {
    let mut report: TrafficReport = read("traffic");
    for server in &mut report.servers {
        let calls = server.counts.calls;
        server.per_minute = (0..60).map(|minute| minute * minute * calls / 8_000).collect();
        server.p50_micros_per_minute = (0..60).map(|minute| 400 + minute % 13 * 300).collect();
    }
    report
}

/// A model with all recorded responses applied.
pub(super) fn model(size: (u16, u16)) -> Model {
    let mut model = Model::new(size, Notify::Nobody, History::default());
    // Two hours east of the times in the fixture, which are in UTC.
    model.zone = DisplayZone(|_| FixedOffset::east_opt(2 * 3600).unwrap());
    let look = ServersUpdate {
        hub: read("status"),
        servers: read("servers"),
        problems: read("problems"),
        approvals: read("approvals"),
        answers: read("answers"),
    };
    let lists: switchboard_core::catalog::RemoteCatalog = read("catalog");
    let mut calls: Vec<PastCall> = read("activity");
    calls.reverse();
    for event in [
        Event::Link(LinkState::Open),
        Event::Looked(Box::new(look)),
        Event::Listed(Box::new(Catalog::from(lists))),
        Event::Questions(read("questions")),
        Event::Calls(calls),
        Event::Traffic(Box::new(traffic())),
        Event::Done {
            wish: RequestIntent::Processes { server: "kiosk".to_owned() },
            answer: Ok(api_fixture("processes")),
        },
    ] {
        assert_eq!(model.update(event), []);
    }
    model
}

/// Presses keys that are separated by blanks; text in quotes is typed letter by letter.
pub(super) fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (number, part) in keys.split('"').enumerate() {
        if number % 2 == 1 {
            for letter in part.chars() {
                let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
                effects.extend(model.update(Event::Key(key)));
            }
            continue;
        }
        for name in part.split_whitespace() {
            effects.extend(model.update(Event::Key(key(name))));
        }
    }
    effects
}

fn key(name: &str) -> KeyEvent {
    let (code, modifiers) = match name {
        "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "Tab" => (KeyCode::Tab, KeyModifiers::NONE),
        "BackTab" => (KeyCode::BackTab, KeyModifiers::SHIFT),
        "Up" => (KeyCode::Up, KeyModifiers::NONE),
        "Down" => (KeyCode::Down, KeyModifiers::NONE),
        "Left" => (KeyCode::Left, KeyModifiers::NONE),
        "Right" => (KeyCode::Right, KeyModifiers::NONE),
        "PgDn" => (KeyCode::PageDown, KeyModifiers::NONE),
        "End" => (KeyCode::End, KeyModifiers::NONE),
        "Space" => (KeyCode::Char(' '), KeyModifiers::NONE),
        "Backspace" => (KeyCode::Backspace, KeyModifiers::NONE),
        name => match name.strip_prefix('^') {
            Some(letter) => {
                let letter = letter.to_ascii_lowercase().chars().next().unwrap();
                (KeyCode::Char(letter), KeyModifiers::CONTROL)
            }
            None => (KeyCode::Char(name.chars().next().unwrap()), KeyModifiers::NONE),
        },
    };
    KeyEvent::new(code, modifiers)
}
