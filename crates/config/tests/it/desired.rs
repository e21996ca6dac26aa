//! Tests of resolving, as data: files, environment and policy in; desired state and problems out.

use std::fs;
use std::path::Path;

use serde_json::json;
use switchboard_config::EntryCredential;

use crate::case::{World, cases};

fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases").join(file);
    let text = fs::read_to_string(&path).unwrap();
    let cases = cases(&text);
    let outcomes: Vec<_> = cases.iter().map(|case| (case, case.outcome())).collect();
    if std::env::var_os("UPDATE").is_some() {
        let text: String =
            outcomes.iter().map(|(case, outcome)| case.with_expectation(outcome)).collect();
        fs::write(&path, text).unwrap();
        return;
    }
    let wrong: Vec<_> =
        outcomes.iter().filter(|(case, outcome)| outcome != case.expected()).collect();
    for (case, outcome) in &wrong {
        println!("=== {}\n--- expected\n{}\n--- got\n{outcome}\n", case.name, case.expected());
    }
    assert!(wrong.is_empty(), "{} of {} cases in {file} are wrong", wrong.len(), cases.len());
}

macro_rules! case_files {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        }
    )*};
}

case_files! { entries expansion scopes trust policy managed settings agents connectors hostile start secrets }

#[test]
fn the_folder_of_a_bundle_is_no_credential() {
    let world = World::new();
    let entries = json!({ "mcpServers": {
        "plain": { "command": "${SWITCHBOARD_PLUGIN_ROOT}/serve", "args": ["${HOME}"] },
        "keyed": { "command": "${SWITCHBOARD_PLUGIN_ROOT}/serve", "env": { "API_KEY": "k" } },
    } });
    world.write("config/plugins/kit/.mcp.json", &entries.to_string());
    let desired = world.desired();
    let check = |name: &str, expected: fn(&EntryCredential) -> bool| {
        let server = desired.servers_named(name).next().unwrap();
        assert!(expected(&server.credential()), "{name}: {:?}", server.credential());
    };
    check("plugin:kit:plain", |credential| matches!(credential, EntryCredential::None));
    check("plugin:kit:keyed", |credential| matches!(credential, EntryCredential::InEntry(_)));
}
