//! Test that a remote server is reached through the proxy of its own workspace.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_core::engine::{Workspace, WorkspaceId};
use switchboard_testkit::http::{Reply, Scripted};

use super::script::Bench;

#[tokio::test]
async fn every_workspace_goes_through_its_own_proxy() {
    let bench = Bench::new().await;
    let proxy = async || Scripted::start(|_| async { Reply::empty(403) }).await;
    let (first, second) = (proxy().await, proxy().await);
    let direct = Scripted::start(|_| async { Reply::empty(403) }).await;
    let url = direct.url("/mcp");
    let entries = json!({ "mcpServers": { "one": { "type": "http", "url": url } } });
    let desired = bench.desired(&entries);
    for (id, variables) in [
        ("first", vec![("HTTP_PROXY", first.url(""))]),
        ("second", vec![("http_proxy", second.url("")), ("HTTP_PROXY", first.url(""))]),
        ("none", vec![]),
        ("excepted", vec![("ALL_PROXY", first.url("")), ("NO_PROXY", "127.0.0.1".to_owned())]),
    ] {
        let before = [&first, &second, &direct].map(|server| server.requests().len());
        let environment: Arc<[_]> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let id_of_environment = WorkspaceId::from_desired(&desired, &environment, "");
        let is_plain = id_of_environment == WorkspaceId::from_desired(&desired, &Arc::from([]), "");
        assert_eq!(is_plain, variables.is_empty(), "{id}: proxies tell workspaces apart");
        let workspace = Workspace { id: id.into(), environment, in_process: Vec::new() };
        bench.engine.apply(&workspace, desired.clone());
        bench.engine.settled_snapshot(&workspace.id, Duration::from_secs(20)).await.unwrap();
        let after = [&first, &second, &direct].map(|server| server.requests().len());
        let asked: Vec<_> =
            before.iter().zip(after).map(|(before, after)| after > *before).collect();
        let expected = match id {
            "first" => [true, false, false],
            "second" => [false, true, false],
            _ => [false, false, true],
        };
        assert_eq!(asked, expected, "{id}");
        if let Some(request) = first.requests().first() {
            assert_eq!(request.path, url, "a proxy is asked in absolute form");
        }
    }
    bench.engine.shutdown().await;
}
