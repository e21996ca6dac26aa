//! Tests of the headers helper command of an entry: when it runs, how often, and which environment it gets.

use std::os::unix::fs::PermissionsExt as _;

use switchboard_testkit::http::{Reply, Scripted};

use crate::Story;
use crate::list::discovered;

/// Counts its runs, writes down its environment, and prints the number of the run as a key.
const HELPER: &str = "#!/bin/sh
echo run >> runs
env > seen
printf '{\"X-Key\": \"%s\"}' \"$(wc -l < runs | tr -d ' ')\"
";

struct Scene {
    story: Story,
    _server: Scripted,
    _runtime: tokio::runtime::Runtime,
}

impl Scene {
    /// A project with a server that answers `status` to every key but `accepted`.
    fn new(accepted: &'static str, status: u16) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(Scripted::start(move |request| async move {
            if request.header("x-key") == Some(accepted) {
                return Reply::json(200, discovered(&request.body));
            }
            Reply::empty(status)
        }));
        let mut story = Story::new();
        story.set("API_KEY", "hunter2");
        story.write("helper.sh", HELPER);
        let path = story.path("helper.sh");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let entry = format!(
            r#"{{"mcpServers": {{"web": {{"type": "http", "url": "{}", "headersHelper": "./helper.sh"}}}}}}"#,
            server.url("/mcp")
        );
        story.write(".mcp.json", &entry);
        Self { story, _server: server, _runtime: runtime }
    }

    fn runs(&self) -> usize {
        let runs = std::fs::read_to_string(self.story.path("runs")).unwrap_or_default();
        runs.lines().count()
    }

    fn check(&self) -> Option<i32> {
        self.story.quietly(&["list", "--check"]).status.code()
    }
}

#[test]
fn it_runs_after_approval_and_once_more_when_its_headers_are_refused() {
    for status in [401, 403] {
        let scene = Scene::new("2", status);
        scene.check();
        assert_eq!(scene.runs(), 0, "nobody has agreed to it yet");
        assert!(scene.story.quietly(&["approve", "web", "--yes"]).status.success());
        assert_eq!(scene.check(), Some(0), "{status}");
        assert_eq!(scene.runs(), 2, "{status}");
        let seen = std::fs::read_to_string(scene.story.path("seen")).unwrap();
        assert!(seen.contains("SWITCHBOARD_MCP_SERVER_NAME=web"), "{seen}");
        assert!(!seen.contains("hunter2"), "{seen}");
    }
}

#[test]
fn a_server_that_refuses_everything_does_not_keep_it_running() {
    let scene = Scene::new("never", 401);
    assert!(scene.story.quietly(&["approve", "web", "--yes"]).status.success());
    assert_eq!(scene.check(), Some(1));
    assert!(scene.runs() <= 4, "{}", scene.runs());
}
