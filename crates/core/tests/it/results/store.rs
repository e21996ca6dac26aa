//! Tests of the store of spilled results: access, reading, expiry.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_core::results::{
    ResultPolicy, ResultShape, ResultStore, ResultStoreError, SearchPattern, SpillTarget,
    limit_result,
};

use super::{DAY, Kit, raw, small};

async fn spilled(kit: &Kit, text: &str) -> switchboard_core::results::SpilledFile {
    let result = raw(json!({"content":[{"type":"text","text":text}]}).to_string());
    kit.tool(&result, &small(ResultPolicy::local())).await.spilled.unwrap()
}

fn age(path: &std::path::Path, by: Duration) {
    for file in [path.to_owned(), path.with_extension("meta")] {
        fs::File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_modified(SystemTime::now() - by)
            .unwrap();
    }
}

#[tokio::test]
async fn only_its_owner_reads_a_result() {
    let kit = Kit::new().await;
    let store = &kit.place.store;
    let id = spilled(&kit, &"x".repeat(200)).await.id;
    assert!(store.read("ann", &id, 0, 10).await.is_ok());
    fs::write(kit.dir.path().join("secret"), "secret").unwrap();
    let upper = id.to_uppercase();
    for (owner, id) in [
        ("bob", id.as_str()),
        ("", &id),
        ("ann", &upper),
        ("ann", ""),
        ("ann", "../secret"),
        ("ann", "00000000000000000000000000000000"),
        ("ann", "..%2fsecret"),
        ("ann", &id[..31]),
    ] {
        assert!(
            matches!(store.read(owner, id, 0, 10).await, Err(ResultStoreError::Missing)),
            "{owner} {id}"
        );
        let text = SearchPattern::Text("x".into());
        assert!(matches!(store.search(owner, id, text, 1).await, Err(ResultStoreError::Missing)));
    }
}

#[tokio::test]
async fn parts_begin_and_end_with_characters() {
    let kit = Kit::new().await;
    let text: String = "aé世😀\n".repeat(50);
    let id = spilled(&kit, &text).await.id;
    let read = |offset, length| kit.place.store.read("ann", &id, offset, length);
    for length in [4, 5, 7, 64, 10_000] {
        let (mut whole, mut at) = (String::new(), Some(0));
        while let Some(offset) = at {
            let slice = read(offset, length).await.unwrap();
            assert_eq!(slice.total, text.len() as u64);
            assert!(slice.text.len() <= length);
            whole.push_str(&slice.text);
            at = slice.next;
        }
        assert_eq!(whole, text, "in parts of {length}");
    }
    let inside = read(2, 3).await.unwrap();
    assert_eq!((inside.text.as_str(), inside.offset), ("é", 1));
    let past = read(1_000_000, 10).await.unwrap();
    assert_eq!((past.text.as_str(), past.next), ("", None));
}

#[tokio::test]
async fn lines_are_found() {
    let kit = Kit::new().await;
    let text = (1..=300).map(|n| format!("row {n} (é)\n")).collect::<Vec<_>>().concat();
    let id = spilled(&kit, &text).await.id;
    let search = |pattern, limit| kit.place.store.search("ann", &id, pattern, limit);
    let hits = search(SearchPattern::Regex("row (7|30)0? ".into()), 10).await.unwrap();
    let lines: Vec<u64> = hits.iter().map(|hit| hit.line).collect();
    assert_eq!(lines, [7, 30, 70, 300]);
    for hit in &hits {
        let slice = kit.place.store.read("ann", &id, hit.offset, hit.text.len()).await.unwrap();
        assert_eq!(slice.text, hit.text);
    }
    assert_eq!(search(SearchPattern::Text("(é)".into()), 2).await.unwrap().len(), 2);
    assert!(matches!(
        search(SearchPattern::Regex("(".into()), 1).await,
        Err(ResultStoreError::Pattern(_))
    ));
    assert!(matches!(
        search(SearchPattern::Regex("(x{1000}){1000}".into()), 1).await,
        Err(ResultStoreError::Pattern(_))
    ));
}

#[tokio::test]
async fn the_oldest_make_room() {
    let kit = Kit::capped(1300).await;
    let mut kept = Vec::new();
    for at in 0..3 {
        let one = spilled(&kit, &"x".repeat(300)).await;
        age(&one.path, Duration::from_secs(3600 * (10 - at)));
        kept.push(one.path);
    }
    let newest = spilled(&kit, &"x".repeat(300)).await.path;
    assert_eq!(
        kept.iter().map(|path| path.exists()).collect::<Vec<_>>(),
        [false, true, true][..].to_vec()
    );
    assert!(newest.exists());
    // Even the young go where nothing else is left, but never the one just written.
    let whole = spilled(&kit, &"x".repeat(950)).await.path;
    assert!(whole.exists() && !newest.exists());
    assert_eq!(kit.files(), 2, "a file and its card");
}

#[tokio::test]
async fn an_owner_that_fills_the_store_loses_its_own_results() {
    let kit = Kit::capped(1300).await;
    let store = kit.place.store.clone();
    let bob = SpillTarget { store, owner: "bob".to_owned() };
    let spill = async |place: &SpillTarget, bytes: usize| {
        let result = raw(json!({"content":[{"type":"text","text":"x".repeat(bytes)}]}).to_string());
        let policy = small(ResultPolicy::local());
        let kept = limit_result(result, ResultShape::Tool, &policy, || Some(place.clone())).await;
        kept.spilled.map(|spilled| spilled.path)
    };
    let of_bob = spill(&bob, 300).await.unwrap();
    age(&of_bob, Duration::from_secs(3600));
    let mut of_ann = Vec::new();
    for _ in 0..4 {
        let path = spill(&kit.place, 300).await.unwrap();
        age(&path, Duration::from_secs(600 - 100 * of_ann.len() as u64));
        of_ann.push(path);
    }
    let kept: Vec<bool> = of_ann.iter().map(|path| path.exists()).collect();
    assert_eq!(kept, [false, false, true, true]);
    assert!(of_bob.exists(), "an older result of another owner made room");
    // One that fits only without Bob's is not kept, although it is smaller than the store.
    assert_eq!(spill(&kit.place, 1100).await, None);
    assert!(of_bob.exists());
    // And where Ann holds the most, Bob's new one finds room.
    let of_ann = spill(&kit.place, 800).await.unwrap();
    assert!(spill(&bob, 300).await.unwrap().exists() && of_bob.exists() && !of_ann.exists());
}

#[tokio::test]
async fn a_week_later_it_is_gone() {
    let kit = Kit::new().await;
    let old = spilled(&kit, &"x".repeat(200)).await.path;
    let new = spilled(&kit, &"x".repeat(200)).await.path;
    age(&old, 8 * DAY);
    let other = kit.dir.path().join("results/notes.txt");
    fs::write(&other, "not ours").unwrap();
    ResultStore::open(kit.dir.path().join("results"), 1000, 7 * DAY).await.unwrap();
    assert!(!old.exists() && new.exists() && other.exists());
    assert_eq!(kit.files(), 3);
}
