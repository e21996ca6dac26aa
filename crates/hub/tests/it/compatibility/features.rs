//! Test data: the features of the compatibility matrix, each as a client's steps and expected results. Used by
//! `compatibility`.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use switchboard_wire::client::{CallRequest, ExchangeEvent, InboxEvent, ListKind, TaskHandling};
use switchboard_wire::json::Raw;
use switchboard_wire::{Era, Error, Version};

use super::gateway::Client;
use super::server::{BEHIND, Behind};

/// Something that a client can do.
pub(super) struct Feature {
    pub(super) name: &'static str,
    /// The first version that has it.
    pub(super) since: Version,
    /// The servers it can be had from.
    pub(super) from: &'static [Behind],
    pub(super) run: fn(Client) -> BoxFuture<'static, Seen>,
}

/// What is wrong, if anything is.
pub(super) type Seen = Result<(), String>;

/// Names a feature and the function of that name.
macro_rules! feature {
    ($name:literal, $since:ident, $run:ident) => {
        feature!($name, $since, $run, &BEHIND)
    };
    ($name:literal, $since:ident, $run:ident, $from:expr) => {
        Feature {
            name: $name,
            since: Version::$since,
            from: $from,
            run: |client| $run(client).boxed(),
        }
    };
}

pub(super) const FEATURES: &[Feature] = &[
    feature!("tools", V2024_11_05, tools),
    feature!("structured content", V2025_06_18, structured_content),
    feature!("large results", V2024_11_05, large_results),
    feature!("prompts", V2024_11_05, prompts),
    feature!("resources", V2024_11_05, resources),
    feature!("resource templates", V2024_11_05, templates),
    feature!("completion", V2024_11_05, completion),
    feature!("elicitation, form", V2025_06_18, form),
    feature!("elicitation, URL", V2025_11_25, url),
    feature!("sampling", V2024_11_05, sampling),
    feature!("roots of the client", V2024_11_05, roots, &[Behind::Modern]),
    feature!("logging", V2024_11_05, logging),
    feature!("progress", V2024_11_05, progress),
    feature!("cancellation", V2024_11_05, cancellation),
    feature!("subscriptions", V2024_11_05, subscriptions),
    feature!("changed lists", V2024_11_05, changed_lists),
    feature!("tasks", V2025_11_25, tasks),
];

// === impl Client ===

impl Client {
    async fn names(&self, list: ListKind, key: &str) -> Result<Vec<String>, String> {
        let listed = self.wire.list(list).await.map_err(|error| told(&error))?;
        let name = |item: &Raw| item.get(key).ok().flatten().and_then(|name| name.to_text());
        Ok(listed.items.iter().filter_map(name).collect())
    }

    pub(super) async fn call(&self, call: CallRequest) -> Result<Value, String> {
        let result = self.wire.call(call).result().await.map_err(|error| told(&error))?;
        Ok(result.decode().unwrap_or_default())
    }

    /// Calls a tool that asks one thing; what it asked, and what it made of the answer.
    pub(super) async fn asked(
        &self,
        call: CallRequest,
        answer: &Value,
    ) -> Result<(String, String), String> {
        let mut exchange = self.wire.call(call);
        let mut method = String::new();
        loop {
            match exchange.next().await.map_err(|error| told(&error))? {
                ExchangeEvent::NeedsInput(questions) => {
                    method.clone_from(&questions[0].method);
                    let answer = Raw::from_value(answer).unwrap();
                    let answers = questions.iter().map(|question| question.answer(answer.clone()));
                    exchange.answer(answers.collect());
                }
                ExchangeEvent::Done(result) => return Ok((method, result.to_string())),
                _ => {}
            }
        }
    }
}

fn tool(name: &str, arguments: &Value) -> CallRequest {
    CallRequest::call_tool(name, &Raw::from_value(arguments).unwrap())
}

pub(super) fn told(error: &Error) -> String {
    error.to_string()
}

/// Wrong, unless `so`.
pub(super) fn ensure(so: bool, otherwise: impl std::fmt::Debug) -> Seen {
    if so { Ok(()) } else { Err(format!("{otherwise:?}")) }
}

async fn tools(client: Client) -> Seen {
    let names = client.names(ListKind::Tools, "name").await?;
    ensure(names.iter().any(|name| name == "test_simple_text"), &names)?;
    let said = client.call(tool("test_simple_text", &json!({}))).await?;
    ensure(said["content"][0]["text"].is_string(), &said)?;
    let failed = client.call(tool("test_error_handling", &json!({}))).await?;
    ensure(failed["isError"] == true, &failed)
}

async fn structured_content(client: Client) -> Seen {
    let said = client.call(tool("structured", &json!({}))).await?;
    ensure(said["structuredContent"] == json!({ "n": 1 }), &said)
}

/// A result past the limit is kept, and read on in.
async fn large_results(client: Client) -> Seen {
    let said = client.call(tool("book", &json!({}))).await?;
    let note = said["content"][0]["text"].as_str().unwrap_or_default();
    let kept = note.find("switchboard://results/").map(|start| &note[start..]);
    let kept = kept.ok_or_else(|| format!("it is not kept: {} characters", note.len()))?;
    let end = kept.find(|c: char| !(c.is_ascii_alphanumeric() || ":/_-".contains(c)));
    let uri = &kept[..end.unwrap_or(kept.len())];
    let found = json!({ "uri": uri, "search": "line 19999" });
    let found = client.call(tool("read_result", &found)).await?;
    let found = found["content"][0]["text"].as_str().unwrap_or_default();
    ensure(found.starts_with("line 19999,"), found)
}

async fn prompts(client: Client) -> Seen {
    let names = client.names(ListKind::Prompts, "name").await?;
    ensure(names.iter().any(|name| name == "test_prompt_with_arguments"), &names)?;
    let arguments = Raw::from_value(&json!({ "arg1": "a", "arg2": "b" })).unwrap();
    let said =
        client.call(CallRequest::get_prompt("test_prompt_with_arguments", &arguments)).await?;
    let text = said["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    ensure(text.ends_with("arg1='a', arg2='b'"), text)
}

async fn resources(client: Client) -> Seen {
    let uris = client.names(ListKind::Resources, "uri").await?;
    ensure(uris.iter().any(|uri| uri == "test://static-text"), &uris)?;
    let read = client.call(CallRequest::read_resource("test://static-text")).await?;
    ensure(read["contents"][0]["text"].is_string(), &read)
}

async fn templates(client: Client) -> Seen {
    let templates = client.names(ListKind::Templates, "uriTemplate").await?;
    ensure(templates == ["test://template/{id}/data"], &templates)?;
    let read = client.call(CallRequest::read_resource("test://template/7/data")).await?;
    let text = read["contents"][0]["text"].as_str().unwrap_or_default();
    ensure(text.contains("Data for ID: 7"), text)
}

async fn completion(client: Client) -> Seen {
    let params = json!({ "ref": { "type": "ref/prompt", "name": "test_prompt_with_arguments" },
        "argument": { "name": "arg1", "value": "pari" } });
    let params = Raw::from_value(&params).unwrap();
    let said = client.call(CallRequest::new("completion/complete", Some(params))).await?;
    ensure(said["completion"]["values"] == json!(["paris"]), &said)
}

async fn form(client: Client) -> Seen {
    let call = tool("test_elicitation", &json!({ "message": "who?" }));
    let answer = json!({ "action": "accept", "content": { "username": "ada" } });
    let (method, said) = client.asked(call, &answer).await?;
    ensure(method == "elicitation/create" && said.contains("ada"), said)
}

async fn url(client: Client) -> Seen {
    let call = tool("visit", &json!({}));
    let (method, said) = client.asked(call, &json!({ "action": "accept" })).await?;
    ensure(method == "elicitation/create" && said.contains("accept"), said)
}

async fn sampling(client: Client) -> Seen {
    let call = tool("test_sampling", &json!({ "prompt": "hi" }));
    let content = json!({ "type": "text", "text": "sampled" });
    let answer = json!({ "role": "assistant", "model": "m", "content": content });
    let (method, said) = client.asked(call, &answer).await?;
    ensure(method == "sampling/createMessage" && said.contains("sampled"), said)
}

/// A legacy server is told of the project's folder instead, since it may be shared between clients.
async fn roots(client: Client) -> Seen {
    let call = tool("test_input_required_result_list_roots", &json!({}));
    let answer = json!({ "roots": [{ "uri": "file:///of/the/client" }] });
    let (_, said) = client.asked(call, &answer).await?;
    ensure(said.contains("file:///of/the/client"), said)
}

/// A modern client hears on the call, a legacy one beside it.
async fn logging(mut client: Client) -> Seen {
    client.wire.set_log_level("info").await.map_err(|error| told(&error))?;
    let mut exchange = client.wire.call(tool("test_tool_with_logging", &json!({})));
    loop {
        tokio::select! {
            event = exchange.next() => match event.map_err(|error| told(&error))? {
                ExchangeEvent::Log(_) => return Ok(()),
                ExchangeEvent::Done(_) => break,
                _ => {}
            },
            heard = client.inbox.next() => if matches!(heard, Ok(InboxEvent::Log(_))) {
                return Ok(());
            },
        }
    }
    let late = tokio::time::timeout(Duration::from_secs(5), client.inbox.next()).await;
    ensure(matches!(late, Ok(Ok(InboxEvent::Log(_)))), late)
}

async fn progress(client: Client) -> Seen {
    let call = tool("test_tool_with_progress", &json!({})).with_progress();
    let mut exchange = client.wire.call(call);
    let mut steps = Vec::new();
    loop {
        match exchange.next().await.map_err(|error| told(&error))? {
            ExchangeEvent::Progress(params) => {
                steps.push(params.get("progress").ok().flatten().unwrap().to_string());
            }
            ExchangeEvent::Done(_) => return ensure(steps == ["0", "50", "100"], &steps),
            _ => {}
        }
    }
}

async fn cancellation(client: Client) -> Seen {
    let mut exchange = client.wire.call(tool("hang", &json!({})));
    let begun = async {
        client.server.until_hanging(1).await;
        // Over SSE a client says nothing of a call that it does not know to have been taken.
        client.call(tool("test_simple_text", &json!({}))).await
    };
    tokio::select! {
        happened = exchange.next() => return Err(format!("{happened:?}")),
        begun = begun => begun?,
    };
    drop(exchange);
    client.server.until_hanging(0).await;
    Ok(())
}

async fn subscriptions(client: Client) -> Seen {
    let uri = "test://watched-resource";
    client.wire.subscribe(uri).await.map_err(|error| told(&error))?;
    let is_it = |heard: &InboxEvent| matches!(heard, InboxEvent::ResourceUpdated { uri: it, .. } if it == uri);
    hear(client, is_it).await
}

async fn changed_lists(client: Client) -> Seen {
    client.wire.list(ListKind::Tools).await.map_err(|error| told(&error))?;
    hear(client, |heard| matches!(heard, InboxEvent::ListChanged(ListKind::Tools))).await
}

/// A call that its client comes back for: handed out, looked at, asked something on the way, and one that is cancelled.
async fn tasks(client: Client) -> Seen {
    // What can be called as a task stands in the list.
    client.names(ListKind::Tools, "name").await?;
    let accept = json!({ "action": "accept", "content": { "confirm": true } });
    let (method, said) = client.asked(confirming(), &accept).await?;
    ensure(method == "elicitation/create" && said.contains("all answered"), said)?;
    let begun = client.call(confirming().with_task_handling(TaskHandling::Hand)).await?;
    let begun = match client.wire.server_facts().era() {
        Era::Modern => &begun,
        Era::Legacy => &begun["task"],
    };
    ensure(begun["status"] == "working", begun)?;
    let id = Raw::from_value(&json!({ "taskId": begun["taskId"] })).unwrap();
    client.call(CallRequest::new("tasks/cancel", Some(id.clone()))).await?;
    loop {
        let state = client.call(CallRequest::new("tasks/get", Some(id.clone()))).await?;
        match state["status"].as_str() {
            Some("cancelled") => return Ok(()),
            Some("working" | "input_required") => tokio::task::yield_now().await,
            _ => return Err(state.to_string()),
        }
    }
}

fn confirming() -> CallRequest {
    let task = Raw::parse(r#"{"ttl":60000}"#).unwrap();
    tool("confirm_delete", &json!({ "filename": "a" })).as_task(task)
}

/// Has the server announce changes until one of them is heard: a client says nowhere when it has begun to listen.
async fn hear(mut client: Client, is_it: impl Fn(&InboxEvent) -> bool) -> Seen {
    let wire = client.wire.clone();
    let announcing = async {
        loop {
            let _ = wire.call(tool("touch", &json!({}))).result().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let hearing = async {
        while !is_it(&client.inbox.next().await.map_err(|error| told(&error))?) {}
        Ok(())
    };
    tokio::select! { heard = hearing => heard, () = announcing => Ok(()) }
}
