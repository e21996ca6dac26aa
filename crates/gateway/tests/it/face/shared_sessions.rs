//! The contract that every `SharedSessions` must keep, with two replicas of it.
//!
//! Used by the tests of this crate for replicas in one process, and by those of the program for a cluster.

use switchboard_gateway::face::replicas::{
    SessionSettings, SessionState, SettingsEdit, SharedSessions, SubscribedUri,
};

const CLIENT: &str = r#"{"protocolVersion":"2025-11-25"}"#;

fn settings(level: Option<&str>, uris: &[&str]) -> SessionSettings {
    let uri = |uri: &&str| SubscribedUri { uri: (*uri).to_owned(), owner: None };
    let subscriptions = uris.iter().map(uri).collect();
    SessionSettings { log_level: level.map(str::to_owned), subscriptions }
}

fn edit(before: &SessionSettings, after: &SessionSettings) -> SettingsEdit {
    SettingsEdit::between(before, after).unwrap()
}

pub(super) async fn check(one: &dyn SharedSessions, other: &dyn SharedSessions) {
    let begun = one.begin("ann", CLIENT).await.unwrap();
    let second = one.begin("ann", CLIENT).await.unwrap();
    assert!(begun.id != second.id && begun.name != second.name);
    assert!(begun.id.len() <= 1024 && begun.id.bytes().all(|byte| byte.is_ascii_graphic()));
    for replica in [one, other] {
        let found = replica.find("ann", &begun.id).await.unwrap().unwrap();
        assert_eq!((found.name, &*found.client), (begun.name.clone(), CLIENT));
        assert_eq!(found.state, SessionState::default());
        for (owner, id) in [("bob", &*begun.id), ("ann", "none"), ("ann", "")] {
            assert_eq!(replica.find(owner, id).await.unwrap(), None, "{owner} {id}");
        }
    }
    let nothing = SessionSettings::default();
    one.change(&begun.name, edit(&nothing, &settings(Some("info"), &["a"]))).await.unwrap();
    other.change(&begun.name, edit(&nothing, &settings(None, &["b"]))).await.unwrap();
    let state = one.state(&begun.name).await.unwrap();
    assert_eq!((state.version, state.settings), (2, settings(Some("info"), &["a", "b"])));
    assert_eq!(other.find("ann", &begun.id).await.unwrap().unwrap().state.version, 2);
    other.end(&begun.name).await.unwrap();
    for replica in [one, other] {
        assert_eq!(replica.find("ann", &begun.id).await.unwrap(), None);
        assert!(replica.state(&begun.name).await.unwrap().ended);
        assert!(replica.find("ann", &second.id).await.unwrap().is_some(), "the other one goes on");
    }
}
