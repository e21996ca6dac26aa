//! Tests of results within and beyond their limits.

mod images;
mod laws;
mod spill;
mod store;

use std::time::Duration;

use switchboard_core::results::{
    LimitedResult, ResultPolicy, ResultShape, ResultStore, SpillTarget, limit_result,
};
use switchboard_wire::json::Raw;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const GIB: u64 = 1024 * 1024 * 1024;

struct Kit {
    dir: tempfile::TempDir,
    place: SpillTarget,
}

impl Kit {
    async fn new() -> Self {
        Self::capped(GIB).await
    }

    async fn capped(cap: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = ResultStore::open(dir.path().join("results"), cap, 7 * DAY).await.unwrap();
        Self { dir, place: SpillTarget { store, owner: "ann".to_owned() } }
    }

    async fn tool(&self, result: &Raw, policy: &ResultPolicy) -> LimitedResult {
        limit_result(result.clone(), ResultShape::Tool, policy, || Some(self.place.clone())).await
    }

    async fn resource(&self, result: &Raw, policy: &ResultPolicy) -> LimitedResult {
        limit_result(result.clone(), ResultShape::Resource, policy, || Some(self.place.clone()))
            .await
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("results")).unwrap().count()
    }
}

fn raw(text: impl Into<String>) -> Raw {
    Raw::parse(text.into()).unwrap()
}

/// A policy with a small limit, for short tests.
fn small(policy: ResultPolicy) -> ResultPolicy {
    ResultPolicy { max_chars: 100, ..policy }
}

/// The text of the first item of `member`.
fn first_text(result: &Raw, member: &str) -> String {
    let item = result.get(member).unwrap().unwrap().elements().next().unwrap();
    item.get("text").unwrap().unwrap().to_text().unwrap()
}

fn is_same(kept: &LimitedResult, result: &Raw) -> bool {
    std::ptr::eq(kept.result.as_str(), result.as_str())
}
