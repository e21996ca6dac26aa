//! How long a large catalog takes. A note for whoever changes it, not a gate: run with
//! `cargo test --release -p switchboard-core --test it catalog::speed -- --ignored --nocapture`.

use std::time::Instant;

use serde_json::json;
use switchboard_core::catalog::Style;

use super::{compose, member, with_tools};

#[test]
#[ignore = "prints times; nothing can fail"]
fn ten_thousand_tools() {
    let servers: Vec<_> = (0..100).map(|server| format!("server-{server}")).collect();
    let tool = |n: usize| {
        json!({
            "name": format!("do_thing_number_{n}_with_a_rather_long_name_that_has_to_be_cut_somewhere"),
            "description": format!("Does thing {n} to a repository, an issue or a pull request. ").repeat(10),
            "inputSchema": { "type": "object", "properties": { "repository": {}, "number": {} } },
        })
    };
    let lists = with_tools(&(0..100).map(tool).collect::<Vec<_>>());
    let members: Vec<_> = servers.iter().map(|server| member(server, lists.clone())).collect();
    let timed = |what: &str, act: &mut dyn FnMut()| {
        let start = Instant::now();
        act();
        println!("{what}: {:?}", start.elapsed());
    };
    let mut catalog = compose(&[]);
    timed("compose", &mut || catalog = compose(&members));
    assert_eq!(catalog.tools().len(), 10_000);
    timed("full names", &mut || assert!(catalog.tool("x").is_none()));
    timed("gateway names", &mut || {
        assert_eq!(catalog.named(Style::Gateway).tools().count(), 10_000);
    });
    timed("first search", &mut || assert_eq!(catalog.search("issue", 5).len(), 5));
    timed("next search", &mut || assert_eq!(catalog.search("pull request", 5).len(), 5));
    timed("suggest", &mut || assert!(catalog.suggest("mcp__server-1__do_thing_numbr_1").len() < 4));
}
