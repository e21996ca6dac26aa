//! `remove`, `get`, `enable` and `disable`

use crate::Story;

#[test]
fn removing() {
    let mut story = Story::new();
    story.quietly(&["add", "a", "sh"]);
    story.quietly(&["add", "-s", "user", "a", "sh"]);
    story
        .run(&["remove", "a"])
        .run(&["remove", "-s", "project", "a"])
        .run(&["remove", "-s", "local", "a"])
        .run(&["remove", "a"])
        .run(&["remove", "a"])
        .run(&[
            "--mcp-config",
            r#"{"mcpServers": {"d": {"command": "sh"}}}"#,
            "remove",
            "d",
        ])
        .cat(".switchboard/settings.local.json");
    insta::assert_snapshot!("remove", story.transcript());
}

#[test]
fn looking_at_one() {
    let mut story = Story::new();
    story.quietly(&[
        "add",
        "-e",
        "TOKEN=abc",
        "-e",
        "LANG",
        "a",
        "sh",
        "--password",
        "x",
    ]);
    story.quietly(&["add", "-s", "user", "a", "sh"]);
    story.quietly(&[
        "add",
        "web",
        "https://u:p@example.com/?key=k",
        "-H",
        "Authorization: Bearer ${T:-abc}",
    ]);
    story.write(".mcp.json", "{\"mcpServers\": {\n  \"p\": {\"command\": \"sh\"},\n  \"v\": {\"command\": \"${NOT_SET}\"},\n  \"broken\": {\"command\": 5, \"x\": 1}\n}}");
    story.quietly(&["approve", "v"]);
    story
        .run(&["get", "a"])
        .run(&["get", "--reveal", "a"])
        .run(&["get", "web"])
        .run(&["get", "--json", "web"])
        .run(&["get", "p"])
        .run(&["get", "v"])
        .run(&["get", "broken"])
        .run(&["get", "nobody"])
        .run(&["get", "--json", "nobody"]);
    insta::assert_snapshot!("get", story.transcript());
}

#[test]
fn switching() {
    let mut story = Story::new();
    story.quietly(&["add", "-s", "user", "a", "sh"]);
    story.write(".mcp.json", r#"{"mcpServers": {"p": {"command": "sh"}}}"#);
    story
        .run(&["disable", "a"])
        .run(&["list", "--no-check"])
        .run(&["get", "a"])
        .run(&["enable", "a"])
        .run(&["disable", "-s", "user", "a"])
        .run(&["enable", "--json", "a"])
        .run(&["disable", "p"])
        .run(&["enable", "p"])
        .run(&["enable", "nobody"])
        .run(&["disable", "-s", "project", "a"])
        .cat(".switchboard/settings.local.json");
    insta::assert_snapshot!("switch", story.transcript());
}
