//! Tests of `switchboard skills` and `skill`.

use crate::Story;
use crate::tools::kiosk;

/// Two servers with the same skills, and one without.
fn libraries() -> Story {
    let story = kiosk();
    let program = switchboard_testkit::programs::program("kiosk");
    for name in ["library", "shelf"] {
        story.quietly(&["add", name, program.to_str().unwrap(), "--", "--skills"]);
    }
    story
}

#[test]
fn are_listed_and_read_with_their_digest() {
    let mut story = libraries();
    story
        .run(&["skills"])
        .run(&["skills", "library", "--json"])
        .run(&["skills", "kiosk"])
        .run(&["skills", "nobody"])
        .run(&["skill", "library/orders"])
        .run(&["skill", "shelf/refunds", "--json"])
        .run(&["skill", "orders"])
        .run(&["skill", "shelf/skill://refunds/SKILL.md"])
        .run(&["skill", "library/forged"])
        .run(&["skill", "nothing"])
        .run(&["read", "library", "skill://orders/references/prices.md"]);
    insta::assert_snapshot!("skills", story.transcript());
}

/// A command that goes through the hub sees what one with servers of its own sees.
#[test]
fn are_the_same_through_the_hub() {
    let story = libraries();
    let commands: [&[&str]; 3] =
        [&["skills"], &["skills", "library", "--json"], &["skill", "shelf/orders"]];
    let alone = commands.map(|command| story.quietly(command).stdout);
    let mut client = crate::gateway::Client::spawn(story.command(&["connect"]));
    client.ask("tools/list", &serde_json::json!({})).unwrap();
    let attached = commands.map(|command| story.quietly(command).stdout);
    for (alone, attached) in alone.iter().zip(&attached) {
        assert_eq!(String::from_utf8_lossy(alone), String::from_utf8_lossy(attached));
    }
    client.leave();
    story.quietly(&["stop"]);
}
