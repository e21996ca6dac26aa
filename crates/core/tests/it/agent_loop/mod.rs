//! Tests of the adapter for agent loops: tool definitions out, calls in, results out.

mod example;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::agent_loop::{SEARCH_TOOL_NAME, ToolOffer, Toolbox};
use switchboard_wire::server::HandlerReply;

use crate::engine::script::{Bench, Script, raw, text};

async fn toolbox(script: Script) -> (Bench, Toolbox, std::sync::Arc<Script>) {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", script);
    bench.settled().await;
    let toolbox = Toolbox::new(bench.engine.clone(), bench.caller("s"));
    (bench, toolbox, script)
}

fn used(id: &str, name: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": format!("mcp__one__{name}"), "input": input })
}

fn names(tools: &[Value], key: fn(&Value) -> &Value) -> Vec<String> {
    tools.iter().map(|tool| key(tool).as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn tools_are_defined_in_both_shapes() {
    let tool = json!({
        "name": "add", "description": "Adds.",
        "inputSchema": { "type": "object", "properties": { "a": { "type": "number" } } },
    });
    let (bench, toolbox, _) = toolbox(Script::new(&[]).with_tool(tool.clone())).await;
    let name = "mcp__one__add";
    assert_eq!(
        toolbox.anthropic_tools(),
        [json!({ "name": name, "description": "Adds.", "input_schema": tool["inputSchema"] })]
    );
    let function =
        json!({ "name": name, "description": "Adds.", "parameters": tool["inputSchema"] });
    assert_eq!(toolbox.openai_tools(), [json!({ "type": "function", "function": function })]);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn with_search_only_what_was_found_is_shown() {
    let (bench, toolbox, _) = toolbox(Script::new(&["read_mail", "send_mail", "dance"])).await;
    let toolbox = toolbox.with_offer(ToolOffer::Search);
    assert_eq!(names(&toolbox.anthropic_tools(), |tool| &tool["name"]), [SEARCH_TOOL_NAME]);
    let search = json!({ "type": "tool_use", "id": "1", "name": SEARCH_TOOL_NAME, "input": { "query": "dance" } });
    let found = toolbox.anthropic_results(&[search]).await;
    assert!(found[0]["content"][0]["text"].as_str().unwrap().contains("mcp__one__dance"));
    let shown = names(&toolbox.anthropic_tools(), |tool| &tool["name"]);
    assert_eq!(shown, ["mcp__one__dance", SEARCH_TOOL_NAME]);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_tool_for_apps_is_neither_shown_nor_called() {
    let tool = |name: &str, visibility: Value| {
        let meta = json!({ "ui": { "visibility": visibility } });
        json!({ "name": name, "inputSchema": { "type": "object" }, "_meta": meta })
    };
    let script = Script::new(&[])
        .with_tool(tool("refresh_mail", json!(["app"])))
        .with_tool(tool("read_mail", json!(["model"])));
    let (bench, toolbox, script) = toolbox(script).await;
    assert_eq!(names(&toolbox.anthropic_tools(), |tool| &tool["name"]), ["mcp__one__read_mail"]);
    let search = json!({ "type": "tool_use", "id": "1", "name": SEARCH_TOOL_NAME, "input": { "query": "mail" } });
    let calls = [search, used("2", "refresh_mail", &json!({})), used("3", "read_mail", &json!({}))];
    let results = toolbox.anthropic_results(&calls).await;
    let found = results[0]["content"][0]["text"].as_str().unwrap();
    assert!(found.contains("read_mail") && !found.contains("refresh_mail"), "{found}");
    assert_eq!(
        results[1]["content"][0]["text"],
        "`mcp__one__refresh_mail` may not be called: its server offers it to apps only, not to models"
    );
    assert_eq!(results[2]["is_error"], false, "{results:?}");
    assert_eq!(script.seen.borrow().len(), 1);
    bench.engine.shutdown().await;
}

/// A model that has read the instructions is told only what changes.
#[tokio::test]
async fn instructions_are_told_once() {
    let script = Script::new(&["echo"]).with_instructions("Be kind.");
    let (mut bench, toolbox, _) = toolbox(script).await;
    let section = "# MCP server instructions\n\n## one\n\nBe kind.\n";
    assert_eq!(toolbox.changed_instructions().as_deref(), Some(section));
    assert_eq!(toolbox.changed_instructions(), None);
    assert_eq!(toolbox.instructions(), section);
    bench.serve("two", Script::new(&["echo"]).with_instructions("Be quick."));
    bench.settled().await;
    let second = "# MCP server instructions\n\n## two\n\nBe quick.\n";
    assert_eq!(toolbox.changed_instructions().as_deref(), Some(second));
    assert_eq!(toolbox.instructions().matches("## ").count(), 2);
    assert_eq!(toolbox.changed_instructions(), None);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn results_keep_their_kind_and_errors_are_told() {
    let script = Script::new(&["all", "fails"]).answering(|name, _| match name {
        "all" => Ok(HandlerReply::Complete(raw(&json!({ "content": [
            { "type": "text", "text": "words" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "resource", "resource": { "uri": "a://b", "text": "inside" } },
            { "type": "resource_link", "uri": "a://c", "name": "c" },
        ] })))),
        _ => Ok(HandlerReply::Complete(raw(&json!({
            "content": [{ "type": "text", "text": "no" }], "isError": true,
        })))),
    });
    let (bench, toolbox, _) = toolbox(script).await;
    let calls = [
        used("1", "all", &json!({})),
        used("2", "fails", &json!({})),
        used("3", "none", &json!({})),
    ];
    let results = toolbox.anthropic_results(&calls).await;
    assert_eq!(
        results[0],
        json!({ "type": "tool_result", "tool_use_id": "1", "is_error": false, "content": [
            { "type": "text", "text": "words" },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } },
            { "type": "text", "text": "[the resource a://b]\ninside" },
            { "type": "text", "text": "[a link to the resource a://c]" },
        ] })
    );
    assert_eq!(
        (&results[1]["is_error"], &results[1]["content"][0]["text"]),
        (&json!(true), &json!("no"))
    );
    assert_eq!(results[2]["is_error"], true);
    assert!(results[2]["content"][0]["text"].as_str().unwrap().contains("mcp__one__none"));

    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls = [call("1", "mcp__one__all", ""), call("2", "mcp__one__all", "{broken")];
    let messages = toolbox.openai_results(&calls).await;
    assert_eq!((&messages[0]["role"], &messages[0]["tool_call_id"]), (&json!("tool"), &json!("1")));
    assert!(messages[0]["content"].as_str().unwrap().starts_with("words\n[an image, image/png]"));
    assert!(messages[1]["content"].as_str().unwrap().contains("not JSON"));
    assert_eq!(messages[2]["content"][0]["image_url"]["url"], "data:image/png;base64,AAAA");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn tools_that_only_read_run_side_by_side_and_others_in_turn() {
    let reads = json!({
        "name": "wait", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true },
    });
    let (bench, toolbox, script) = toolbox(Script::new(&[]).with_tool(reads)).await;
    let calls = [used("1", "wait", &json!({ "n": 1 })), used("2", "wait", &json!({ "n": 2 }))];
    let mut seen = script.seen.subscribe();
    let both = async {
        seen.wait_for(|seen| seen.len() == 2).await.unwrap();
        script.go_on.notify_waiters();
    };
    let (results, ()) = tokio::join!(toolbox.anthropic_results(&calls), both);
    assert_eq!(results.len(), 2);
    bench.engine.shutdown().await;

    let (bench, toolbox, script) = self::toolbox(Script::new(&["wait", "echo"])).await;
    let calls = [used("1", "wait", &json!({})), used("2", "echo", &json!({}))];
    let mut seen = script.seen.subscribe();
    let in_turn = async {
        seen.wait_for(|seen| seen.len() == 1).await.unwrap();
        let next = seen.wait_for(|seen| seen.len() == 2);
        assert!(
            tokio::time::timeout(Duration::from_millis(50), next).await.is_err(),
            "the second began before the first had ended"
        );
        script.go_on.notify_one();
    };
    let (results, ()) = tokio::join!(toolbox.anthropic_results(&calls), in_turn);
    let ids: Vec<_> = results.iter().map(|result| result["tool_use_id"].clone()).collect();
    assert_eq!(ids, ["1", "2"]);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_question_goes_to_whoever_the_host_names() {
    let mut bench = Bench::new().await;
    bench.serve("one", Script::new(&["ask"]).answering(|_, _| text("")));
    bench.settled().await;
    let toolbox = Toolbox::new(bench.engine.clone(), bench.caller("s"));
    let cancelled = toolbox.anthropic_results(&[used("1", "ask", &json!({}))]).await;
    assert_eq!(cancelled[0]["content"][0]["text"], r#"{"action":"cancel"}"#);
    let toolbox = toolbox.with_question_handler(|question| {
        let answer = raw(&json!({ "action": "accept", "content": { "name": "host" } }));
        question.answer(switchboard_core::dispatch::QuestionAnswer::Result(Ok(answer)));
    });
    let answered = toolbox.anthropic_results(&[used("1", "ask", &json!({}))]).await;
    assert!(answered[0]["content"][0]["text"].as_str().unwrap().contains("host"));
    bench.engine.shutdown().await;
}
