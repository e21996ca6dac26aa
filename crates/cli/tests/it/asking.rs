//! Tests of questions of servers on a terminal: forms, pages, progress, results.

use std::os::unix::fs::PermissionsExt as _;

use crate::terminal::Terminal;
use crate::tools::kiosk;

#[test]
fn a_form_is_filled_in() {
    let mut story = kiosk();
    let args = &["call", "register"];
    for answers in [
        &[
            ("Name", "A\n"),
            ("Name", "Ada\n"),
            ("mail", "nowhere\n"),
            ("mail", "ada@example.com\n"),
            ("age", "200\n"),
            ("age", "\n"),
            ("member", "perhaps\n"),
            ("member", "y\n"),
            ("colour", "\n"),
            ("colour", "green\n"),
            ("days", "1,2\n"),
            ("Send this", "what\n"),
            ("Send this", "\n"),
        ][..],
        &[
            ("Name", "Ada\n"),
            ("mail", "\n"),
            ("age", "36\n"),
            ("member", "\n"),
            ("colour", "1\n"),
            ("days", "\n"),
            ("Send this", "n\n"),
        ],
        // The end of input.
        &[("Name", "\u{4}")],
    ] {
        let shown = Terminal::run(story.command(args), answers);
        let shown = story.home.filtered(&shown);
        story.tell(args, &shown);
    }
    insta::assert_snapshot!("asking_form", story.transcript());
}

#[test]
fn a_page_is_visited() {
    let mut story = kiosk();
    let browser = story.path("browser");
    std::fs::write(
        &browser,
        "#!/bin/sh\nprintf %s \"$1\" > visited.part && mv visited.part visited\n",
    )
    .unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    story.set("BROWSER", browser.to_str().unwrap());
    let args = &["call", "sign", "url=https://example.com/sign?a=b"];
    for answer in ["n\n", "q\n", "y\n"] {
        let shown = Terminal::run(story.command(args), &[("Open it", answer)]);
        let shown = story.home.filtered(&shown);
        story.tell(args, &shown);
        if answer != "y\n" {
            assert!(!story.path("visited").exists(), "nothing is opened without a yes");
        }
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !story.path("visited").exists() {
        assert!(std::time::Instant::now() < deadline, "no browser was opened");
        std::thread::yield_now();
    }
    assert_eq!(
        std::fs::read_to_string(story.path("visited")).unwrap(),
        "https://example.com/sign?a=b"
    );
    insta::assert_snapshot!("asking_page", story.transcript());
}

/// What a screen shows: text made safe, files written and named, long text kept elsewhere.
#[test]
fn results_on_a_screen() {
    let mut story = kiosk();
    let escape = "text=\u{1b}[2Jhi\u{202e}";
    for args in [
        &["call", "say", escape][..],
        &["call", "picture"],
        &["read", "kiosk://leaflet"],
        &["read", "kiosk://stamp"],
        &["call", "book", "lines=20000"],
    ] {
        let shown = Terminal::run(story.command(args), &[]);
        let lines: Vec<_> = shown.lines().take(12).collect();
        let shown = story.home.filtered(&lines.join("\n"));
        story.tell(args, &shown.replace('\r', ""));
    }
    insta::assert_snapshot!(
        "asking_screen",
        story.transcript().replace('\u{1b}', "ESC").replace('\u{202e}', "RLO")
    );
}

/// How far a call is stands there while it runs, and is gone when it has ended.
#[test]
fn progress_is_shown() {
    let story = kiosk();
    let shown = Terminal::run(story.command(&["call", "count", "to=3"]), &[("of 3 at", "")]);
    assert!(shown.trim_end().ends_with("counted to 3"), "{shown}");
}
