//! Test of many processes that change one configuration file at once: no change is lost.

use crate::Story;

#[test]
fn two_hundred_adds_lose_nothing() {
    let story = Story::new();
    story.write(".mcp.json", "{\n  // kept\n  \"mcpServers\": {}\n}\n");
    let names: Vec<_> = (0..200).map(|number| format!("s{number}")).collect();
    let children: Vec<_> = names
        .iter()
        .map(|name| story.command(&["add", "-q", "-s", "project", name, "sh"]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = std::fs::read_to_string(story.path(".mcp.json")).unwrap();
    assert!(text.contains("// kept"));
    let output = story.quietly(&["list", "--no-check", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let servers = list["servers"].as_array().unwrap();
    // Each was approved by whoever added it, so the approvals were not lost either.
    let ready = servers.iter().filter(|server| server["state"] == "ready");
    let mut found: Vec<_> =
        ready.map(|server| server["name"].as_str().unwrap().to_owned()).collect();
    found.sort();
    let mut names = names;
    names.sort();
    assert_eq!(found, names);
}
