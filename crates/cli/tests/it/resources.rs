//! Tests of `switchboard resources`, `read`, `prompts`, `prompt` and `complete`.

use crate::tools::kiosk;

#[test]
fn what_can_be_read() {
    let mut story = kiosk();
    story
        .run(&["resources"])
        .run(&["resources", "kiosk", "--json"])
        .run(&["resources", "nobody"])
        .run(&["read", "kiosk", "kiosk://page/1"])
        .run(&["read", "@kiosk:kiosk://page/2"])
        .run(&["read", "kiosk://page/3", "--json"])
        .run(&["read", "kiosk://nowhere"])
        .run(&["read", "kiosk", "kiosk://nowhere"])
        .run(&["read", "@nobody:kiosk://leaflet"])
        .run(&["read", "nobody", "kiosk://leaflet"]);
    insta::assert_snapshot!("resources", story.transcript());
    assert_eq!(story.quietly(&["read", "kiosk://stamp"]).stdout, [0, 1, 2]);
    assert_eq!(story.quietly(&["read", "kiosk://leaflet"]).stdout, b"take one\x1b[2J\n");
}

/// The tools that models have for resources are there for people too.
#[test]
fn resources_by_tools() {
    let mut story = kiosk();
    story
        .run(&["tools", "--search", "read a resource"])
        .run(&["tools", "ReadMcpResource"])
        .run(&["call", "ListMcpResources", "server=kiosk"])
        .run(&["call", "ReadMcpResource", "uri=kiosk://page/1"])
        .run(&["call", "ReadMcpResource"]);
    insta::assert_snapshot!("resource_tools", story.transcript());
}

#[test]
fn texts_that_are_ready() {
    let mut story = kiosk();
    story
        .run(&["prompts"])
        .run(&["prompts", "kiosk", "--json"])
        .run(&["prompt", "letter", "to=Ada"])
        .run(&["prompt", "kiosk/letter", "to=Ada", "--json"])
        .run(&["prompt", "letter", "from=Ada", "in=haste"])
        .run(&["prompt", "letter", "Ada"])
        .run(&["prompt", "lettre"])
        .run(&["complete", "mcp__kiosk__letter", "to", "A", "from=Bob"])
        .run(&["complete", "kiosk://page/{number}", "number", "--json"])
        .run(&["complete", "nowhere://{x}", "x", "1"]);
    insta::assert_snapshot!("prompts", story.transcript());
}
