//! Test of the program under `examples/`, run against a scripted model.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_testkit::programs::program;

#[tokio::test]
async fn the_example_asks_its_model_calls_the_tool_and_prints_the_answer() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = Scripted::start(move |request| {
        let turn = asked.fetch_add(1, Ordering::SeqCst);
        async move {
            let request: Value = serde_json::from_slice(&request.body).unwrap();
            Reply::json(200, answer(turn, &request).to_string())
        }
    })
    .await;

    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".config/switchboard");
    std::fs::create_dir_all(&settings).unwrap();
    let servers = json!({ "mcpServers": { "one": { "command": program("fixture-server") } } });
    std::fs::write(settings.join("settings.json"), servers.to_string()).unwrap();

    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/agent_loop");
    let output = tokio::process::Command::new(example)
        .arg("say hello")
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", "/usr/bin:/bin")
        .env("MODEL_URL", model.url("/v1/messages").as_str())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(shown(&output.stdout), "The tool said it.\n", "{}", shown(&output.stderr));
    assert!(output.status.success());
    assert_eq!(model.requests().len(), 2);
}

/// What a model would say: first that it wants a tool, then what came of it.
fn answer(turn: usize, request: &Value) -> Value {
    let tools = request["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "mcp__one__echo"), "{tools:?}");
    let content = if turn == 0 {
        assert_eq!(request["messages"][0]["content"], "say hello");
        json!([{ "type": "tool_use", "id": "t1", "name": "mcp__one__echo", "input": { "x": 1 } }])
    } else {
        let result = &request["messages"][2]["content"][0];
        assert_eq!(
            (&result["type"], &result["tool_use_id"]),
            (&json!("tool_result"), &json!("t1"))
        );
        assert_eq!(result["is_error"], false);
        json!([{ "type": "text", "text": "The tool said it." }])
    };
    json!({ "role": "assistant", "content": content })
}
