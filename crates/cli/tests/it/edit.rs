//! Tests of `switchboard edit`, with scripts as editors.

use std::os::unix::fs::PermissionsExt;

use crate::{Story, terminal::Terminal};

/// An editor that runs these lines; `$1` is the file.
pub(crate) fn editor(story: &mut Story, script: &str) {
    let path = story.path("../editor");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let editor = path.display().to_string();
    story.set("EDITOR", &editor);
}

fn story() -> Story {
    let story = Story::new();
    story.write(
        ".mcp.json",
        "{\n  // ours\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"sh\", // a shell\n      \"args\": [\"-c\", \"x\"]\n    }\n  }\n}\n",
    );
    story
}

#[test]
fn only_what_was_changed_changes() {
    let mut story = story();
    let seen = story.path("seen").display().to_string();
    editor(
        &mut story,
        &format!(
            "stat -c %a $(dirname \"$1\") > '{seen}'; cat \"$1\" >> '{seen}'; sed -i 's/\"x\"/\"y\"/' \"$1\""
        ),
    );
    story.run(&["edit", "a"]).cat(".mcp.json").cat("seen").run(&["list", "--no-check"]);
    insta::assert_snapshot!("edit", story.transcript());
}

#[test]
fn nothing_changes_without_a_good_entry() {
    let mut story = story();
    for script in [
        "true",
        "> \"$1\"",
        "echo '// nothing' > \"$1\"",
        "echo '{' > \"$1\"",
        "echo '{\"command\": 5}' > \"$1\"",
        "echo '{\"type\": \"http\", \"url\": \"x\"}' > \"$1\"",
        "exit 3",
        "rm \"$1\"",
    ] {
        editor(&mut story, script);
        story.run(&["edit", "a"]);
    }
    story.set("VISUAL", "no-such-editor");
    story
        .run(&["edit", "a"])
        .run(&["edit", "nobody"])
        .run(&["edit", "-s", "user", "a"])
        .cat(".mcp.json");
    insta::assert_snapshot!("edit_nothing", story.transcript());
}

#[test]
fn arguments_of_an_editor_and_json() {
    let mut story = story();
    story.set("EDITOR", "sed -i s/sh/sh2/ --");
    story.run(&["--json", "edit", "a"]).run(&["--json", "edit", "nobody"]);
    insta::assert_snapshot!("edit_json", story.transcript());
}

#[test]
fn somebody_elses_change_is_not_lost() {
    let mut story = story();
    let file = story.path(".mcp.json").display().to_string();
    editor(
        &mut story,
        &format!("sed -i 's/\"x\"/\"mine\"/' \"$1\"; sed -i 's/\"x\"/\"theirs\"/' '{file}'"),
    );
    story.run(&["edit", "a"]).cat(".mcp.json");
    insta::assert_snapshot!("edit_meanwhile", story.transcript());
}

/// On a terminal a mistake is explained and the editor opened again, as often as the person likes.
#[test]
fn a_mistake_can_be_corrected() {
    let mut story = story();
    let count = story.path("../count").display().to_string();
    editor(
        &mut story,
        &format!(
            "echo x >> '{count}'; if [ $(wc -l < '{count}') = 2 ]; then echo '{{\"command\": \"good\"}}' > \"$1\"; else echo '{{\"command\": 5}}' > \"$1\"; fi"
        ),
    );
    let shown = Terminal::run(story.command(&["edit", "a"]), &[("Edit it again?", "\n")]);
    story.tell(&["edit", "a"], &shown);
    story.cat(".mcp.json");
    let shown = Terminal::run(story.command(&["edit", "a"]), &[("Edit it again?", "n\n")]);
    story.tell(&["edit", "a"], &shown);
    story.cat(".mcp.json");
    insta::assert_snapshot!("edit_again", story.transcript());
}
