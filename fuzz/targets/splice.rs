//! Splicing against a model: what was asked for is there, and nothing else has changed.
//!
//! An input is an object on its first line and one edit on each line after it: `path=value` sets,
//! `path` alone removes, and dots part the keys of a path.
#![no_main]

#[path = "../../crates/wire/tests/it/envelope/model.rs"]
mod model;

use libfuzzer_sys::fuzz_target;
use model::Change;
use switchboard_wire::json::{Raw, splice};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lines = text.lines();
    let object = lines.next().unwrap_or_default();
    let changes: Option<Vec<Change>> = lines.take(8).map(change).collect();
    let (Ok(object), Some(changes)) = (Raw::parse(object.to_owned()), changes) else {
        return;
    };
    if !model::can_tell(object.as_str()) || !model::are_apart(&changes) {
        return;
    }
    let paths: Vec<_> = changes.iter().map(Change::path).collect();
    let edits: Vec<_> = model::edits(&changes, &paths);
    match splice(object.as_str(), &edits) {
        Err(error) => assert!(model::refuses(object.as_str(), &changes), "{error}"),
        Ok(new) => {
            assert!(!model::refuses(object.as_str(), &changes));
            serde_json::from_str::<&serde_json::value::RawValue>(&new).expect("JSON comes out");
            model::check(object.as_str(), &new, &changes);
        }
    }
});

fn change(line: &str) -> Option<Change> {
    let (path, value) = match line.split_once('=') {
        None => (line, None),
        Some((path, value)) => (path, Some(Raw::parse(value.to_owned()).ok()?.to_string())),
    };
    Some(Change { path: path.split('.').map(str::to_owned).collect(), value })
}
