//! Tests of every way in which a file changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_config::Scope;
use switchboard_sources::WatchMode;

use crate::fixture::{
    Home, add, has_kind, options, ready, replace, servers, soon, state, timed, write,
};

#[tokio::test]
async fn the_first_snapshot_is_there_at_once() {
    let home = Home::new();
    write(home.settings(), servers(&["a", "b"]));
    let followed = home.follow().await;
    let snapshot = followed.now();
    assert_eq!((ready(&snapshot), snapshot.generation), (vec!["a", "b"], 1));
    assert!(snapshot.problems.is_empty(), "{:?}", snapshot.problems);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_file_is_edited_in_place_replaced_deleted_and_created() {
    let home = Home::new();
    let path = home.settings();
    write(&path, servers(&["a"]));
    let mut followed = home.follow().await;
    write(&path, servers(&["b"]));
    followed.ready(&["b"]).await;
    replace(&path, servers(&["c"]));
    followed.ready(&["c"]).await;
    replace(&path, servers(&["d"]));
    followed.ready(&["d"]).await;
    fs::remove_file(&path).unwrap();
    followed.ready(&[]).await;
    write(&path, servers(&["e"]));
    followed.ready(&["e"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn folders_that_were_not_there_appear_disappear_and_are_replaced() {
    let home = Home::new();
    let mut followed = home.follow().await;
    assert!(!home.path(".config").exists());
    write(home.settings(), servers(&["a"]));
    followed.ready(&["a"]).await;
    fs::rename(home.path(".config"), home.path("elsewhere")).unwrap();
    followed.ready(&[]).await;
    write(home.path("other/switchboard/settings.json"), servers(&["b"]));
    fs::rename(home.path("other"), home.path(".config")).unwrap();
    followed.ready(&["b"]).await;
    // The watch must be on the folder that has the name now.
    write(home.settings(), servers(&["c"]));
    followed.ready(&["c"]).await;
    fs::remove_dir_all(home.path(".config")).unwrap();
    followed.ready(&[]).await;
    write(home.settings(), servers(&["d"]));
    followed.ready(&["d"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn links_are_followed_and_retargeted() {
    let home = Home::new();
    write(home.path("dotfiles/one/settings.json"), servers(&["a"]));
    write(home.path("dotfiles/two/settings.json"), servers(&["b"]));
    fs::create_dir_all(home.path(".config")).unwrap();
    symlink("../dotfiles/current", home.path(".config/switchboard")).unwrap();
    symlink("one", home.path("dotfiles/current")).unwrap();
    let mut followed = home.follow().await;
    assert_eq!(ready(&followed.now()), ["a"]);
    write(home.path("dotfiles/one/settings.json"), servers(&["aa"]));
    followed.ready(&["aa"]).await;
    symlink("two", home.path("dotfiles/next")).unwrap();
    fs::rename(home.path("dotfiles/next"), home.path("dotfiles/current")).unwrap();
    followed.ready(&["b"]).await;
    write(home.path("dotfiles/two/settings.json"), servers(&["bb"]));
    followed.ready(&["bb"]).await;
    write(home.path("far/away.json"), servers(&["c"]));
    fs::remove_file(home.path("dotfiles/two/settings.json")).unwrap();
    symlink(home.path("far/away.json"), home.path("dotfiles/two/settings.json")).unwrap();
    followed.ready(&["c"]).await;
    replace(home.path("far/away.json"), servers(&["cc"]));
    followed.ready(&["cc"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn every_scope_is_watched() {
    let home = Home::new();
    let mut followed = home.follow().await;
    add(&home, Scope::Project, "project");
    followed.ready(&["project"]).await;
    add(&home, Scope::Local, "local");
    followed.ready(&["local", "project"]).await;
    let bundle = home.path(".config/switchboard/plugins/kit/.mcp.json");
    write(bundle, r#"{"mcpServers": {"x": {"command": "false"}}}"#);
    followed.ready(&["local", "plugin:kit:x", "project"]).await;
    let root = home.path("project");
    home.workspace().forget_approvals().unwrap();
    let snapshot = followed.ready(&["plugin:kit:x"]).await;
    assert_eq!(snapshot.desired.root, root);
    assert_eq!(state(&snapshot, "project"), "awaiting-approval");
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_mark_that_appears_moves_the_root() {
    let home = Home::new();
    let mut followed = home.follow().await;
    assert_eq!(followed.now().desired.root, home.path("project"));
    fs::create_dir(home.path(".git")).unwrap();
    followed.until(|snapshot| snapshot.desired.root == home.path("")).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn what_says_the_same_is_not_handed_over() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    let mut followed =
        home.follow_with(timed(|timing| timing.quiet = Duration::from_millis(1))).await;
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    for _ in 0..30 {
        ticks.tick().await;
        replace(home.settings(), servers(&["a"]));
        ticks.tick().await;
        write(home.path(".config/switchboard/unrelated"), "x");
    }
    write(home.settings(), servers(&["b"]));
    let snapshot = followed.ready(&["b"]).await;
    assert_eq!(snapshot.generation, 2);
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_storm_ends_in_the_last_state() {
    let home = Home::new();
    write(home.settings(), servers(&["start"]));
    let mut followed = home.follow().await;
    let path = home.settings();
    let storm = tokio::task::spawn_blocking(move || {
        for number in 0..500 {
            let text = servers(&[&format!("s{number}")]);
            match number % 3 {
                0 => write(&path, text),
                1 => replace(&path, text),
                _ => {
                    fs::remove_file(&path).unwrap();
                    write(&path, text);
                }
            }
        }
    });
    storm.await.unwrap();
    let snapshot = followed.ready(&["s499"]).await;
    assert!(snapshot.generation < 100, "{}", snapshot.generation);
    // The state stays: the next snapshot comes from the next edit.
    write(home.settings(), servers(&["end"]));
    let last = followed.until(|now| now.generation > snapshot.generation).await;
    assert_eq!(ready(&last), ["end"]);
    soon(followed.sources.shutdown()).await;
}

/// Some programs empty a file and fill it later. No snapshot shows the empty file.
#[tokio::test]
async fn a_file_written_in_two_steps_is_seen_whole() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    let mut followed =
        home.follow_with(timed(|timing| timing.emptied = Duration::from_secs(20))).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut snapshots = followed.sources.subscribe();
    let notes = Arc::clone(&seen);
    let watching = tokio::spawn(async move {
        while snapshots.changed().await.is_ok() {
            let snapshot = Arc::clone(&snapshots.borrow_and_update());
            let names: Vec<_> = ready(&snapshot).iter().map(ToString::to_string).collect();
            notes.lock().unwrap().push(names);
        }
    });
    for name in ["b", "c", "d"] {
        fs::File::create(home.settings()).unwrap();
        // Longer than a burst is waited out.
        tokio::time::sleep(Duration::from_millis(400)).await;
        write(home.settings(), servers(&[name]));
        followed.ready(&[name]).await;
    }
    soon(followed.sources.shutdown()).await;
    watching.await.unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(|names| !names.is_empty()), "{seen:?}");
}

#[tokio::test]
async fn a_file_that_stays_empty_counts_as_empty() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    let mut followed = home.follow().await;
    fs::File::create(home.settings()).unwrap();
    followed.ready(&[]).await;
    soon(followed.sources.shutdown()).await;
}

/// An edit is found even without file events.
#[tokio::test]
async fn looking_finds_what_nobody_tells() {
    let home = Home::new();
    let mut options = timed(|timing| timing.poll = Duration::from_millis(20));
    options.watching = WatchMode::Polling;
    let mut followed = home.follow_with(options).await;
    write(home.settings(), servers(&["a"]));
    followed.ready(&["a"]).await;
    replace(home.settings(), servers(&["b"]));
    followed.ready(&["b"]).await;
    fs::remove_dir_all(home.path(".config")).unwrap();
    let snapshot = followed.ready(&[]).await;
    // Polling was requested, so it is no problem.
    assert!(snapshot.problems.is_empty());
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn asking_to_refresh_looks_at_once() {
    let home = Home::new();
    let mut options = options();
    options.watching = WatchMode::Polling;
    options.timing.poll = Duration::from_secs(3600);
    let mut followed = home.follow_with(options).await;
    write(home.settings(), servers(&["a"]));
    followed.sources.refresh();
    followed.ready(&["a"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn a_folder_in_the_place_of_a_file_is_a_problem() {
    let home = Home::new();
    let mut followed = home.follow().await;
    fs::create_dir_all(home.settings()).unwrap();
    followed
        .until(|snapshot| has_kind(snapshot, switchboard_config::ConfigProblemKind::Unreadable))
        .await;
    soon(followed.sources.shutdown()).await;
}
