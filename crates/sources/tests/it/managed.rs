//! Tests of the administrator's files, which take effect at once, even while other files are broken.

use std::fs;

use switchboard_config::{ConfigProblemKind, Scope};

use crate::fixture::{Home, add, has_kind, is_held, ready, servers, soon, state, write};

#[tokio::test]
async fn a_policy_that_cannot_be_read_closes_everything() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    let policy = home.path("etc/switchboard/managed-settings.json");
    write(&policy, r#"{"deniedMcpServers": [{"serverName": "evil"}]}"#);
    let mut followed = home.follow().await;
    assert_eq!(ready(&followed.now()), ["a"]);
    write(&policy, r#"{"deniedMcpServers": ["#);
    let snapshot = followed.ready(&[]).await;
    assert!(has_kind(&snapshot, ConfigProblemKind::FailedClosed) && !is_held(&snapshot));
    assert_eq!(state(&snapshot, "a"), "blocked");
    write(&policy, "{}");
    followed.ready(&["a"]).await;
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn also_while_another_file_is_broken() {
    let home = Home::new();
    write(home.settings(), servers(&["a"]));
    add(&home, Scope::Project, "p");
    let mut followed = home.follow().await;
    write(home.settings(), "{");
    followed.until(is_held).await;
    let policy = home.path("etc/switchboard/managed-settings.d/10.json");
    write(&policy, r#"{"deniedMcpServers": [{"serverName": "p"}]}"#);
    let snapshot = followed.ready(&[]).await;
    assert_eq!(state(&snapshot, "p"), "blocked");
    write(&policy, "{");
    let snapshot =
        followed.until(|snapshot| has_kind(snapshot, ConfigProblemKind::FailedClosed)).await;
    assert!(ready(&snapshot).is_empty());
    soon(followed.sources.shutdown()).await;
}

#[tokio::test]
async fn the_exclusive_file_appears_and_goes() {
    for is_broken in [false, true] {
        let home = Home::new();
        write(home.settings(), servers(&["a"]));
        let mut followed = home.follow().await;
        if is_broken {
            write(home.settings(), "{");
            followed.until(is_held).await;
        }
        let exclusive = home.path("etc/switchboard/managed-mcp.json");
        write(&exclusive, servers(&["corporate"]));
        let snapshot = followed.ready(&["corporate"]).await;
        assert!(snapshot.desired.exclusive);
        write(&exclusive, "{");
        let snapshot = followed.ready(&[]).await;
        assert!(snapshot.desired.exclusive && has_kind(&snapshot, ConfigProblemKind::FailedClosed));
        write(home.settings(), servers(&["b"]));
        fs::remove_file(&exclusive).unwrap();
        followed.ready(&["b"]).await;
        soon(followed.sources.shutdown()).await;
    }
}
