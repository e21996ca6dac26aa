//! Handles of calls that wait: for their own client, the same request, once.

use switchboard_core::results::Policy;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::front::Part;
use switchboard_wire::client::{Answer, Call, Client, Event, Resume};
use switchboard_wire::json::Raw;
use switchboard_wire::{Era, Version};

use super::{ALL, Gateway, asking, raw, soon};

fn accept(key: &str) -> Vec<Answer> {
    let outcome = Ok(raw(r#"{"action":"accept","content":{"name":"Ada","decision":"once"}}"#));
    vec![Answer { key: key.to_owned(), outcome }]
}

/// Calls a tool until it asks something; the state that came with the question.
async fn ask(client: &Client, call: &Call) -> (Raw, String) {
    let mut exchange = client.call(call.clone());
    loop {
        match soon(exchange.next()).await.unwrap() {
            Event::NeedsInput(questions) => {
                let key = questions[0].key.clone();
                match exchange.into_resume() {
                    Some(Resume::Again { state: Some(state) }) => return (state, key),
                    other => panic!("{other:?}"),
                }
            }
            Event::Done(result) => panic!("{result}"),
            _ => {}
        }
    }
}

async fn again(client: &Client, call: &Call, state: &Raw, key: &str) -> Result<Raw, i64> {
    let resume = Resume::Again { state: Some(state.clone()) };
    let resumed = client.resume(call, resume, accept(key)).result();
    soon(resumed).await.map_err(|error| error.code().unwrap_or_default())
}

#[tokio::test]
async fn a_handle_works_once_for_its_own_client_and_request() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _a) = gateway.client(Version::LATEST, ALL).await;
        let part = Part::Everything;
        let (stranger, _b) = gateway.client_of(Version::LATEST, ALL, "you", part).await;
        let call = Call::tool("one__ask", &raw("{}"));
        let (state, key) = ask(&client, &call).await;

        assert_eq!(again(&stranger, &call, &state, &key).await.unwrap_err(), -32602, "stolen");
        let other = Call::tool("two__ask", &raw("{}"));
        assert_eq!(again(&client, &other, &state, &key).await.unwrap_err(), -32602, "swapped");
        let tampered = Raw::string(&format!("{}x", state.to_text().unwrap()));
        assert_eq!(again(&client, &call, &tampered, &key).await.unwrap_err(), -32602, "tampered");

        let result = again(&client, &call, &state, &key).await.unwrap();
        assert!(result.as_str().contains("Ada"), "{result}");
        assert_eq!(again(&client, &call, &state, &key).await.unwrap_err(), -32602, "replayed");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_expires_and_its_call_is_cancelled() {
    let gateway = Gateway::start(Era::Modern, "{}").await;
    let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
    let call = Call::tool("one__ask", &raw("{}"));
    let (state, key) = ask(&client, &call).await;
    tokio::time::sleep(std::time::Duration::from_secs(601)).await;
    assert_eq!(again(&client, &call, &state, &key).await.unwrap_err(), -32602);
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn consent_is_asked_of_a_client_that_can_be_asked() {
    let gateway = Gateway::with(Era::Modern, "{}", asking()).await;
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        let (client, _inbox) = gateway.client(version, ALL).await;
        let mut exchange = client.call(Call::tool("one__echo", &raw("{}")));
        let result = loop {
            match soon(exchange.next()).await.unwrap() {
                Event::NeedsInput(questions) => {
                    assert!(questions[0].params.as_str().contains("mcp__one__echo"));
                    exchange.answer(accept(&questions[0].key));
                }
                Event::Done(result) => break result,
                _ => {}
            }
        };
        assert!(result.as_str().contains("echo"));
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn without_anybody_to_ask_a_call_is_refused_with_the_rule_that_would_allow_it() {
    let gateway = Gateway::with(Era::Modern, "{}", asking()).await;
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        let (client, _inbox) = gateway.client(version, "{}").await;
        let refused = client.call(Call::tool("one__echo", &raw("{}"))).result().await.unwrap_err();
        assert!(
            refused.to_string().contains("`mcp__one__echo` under `permissions.allow`"),
            "{refused}"
        );
        client.close().await;
    }
    gateway.engine.shutdown().await;

    // By default a client's own prompt decides, and a client that can be asked nothing works at its first call.
    let gateway = Gateway::start(Era::Modern, "{}").await;
    let (client, _inbox) = gateway.client(Version::V2024_11_05, "{}").await;
    soon(client.call(Call::tool("one__echo", &raw("{}"))).result()).await.unwrap();
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_part_shows_one_server() {
    let options = BridgeOptions { results: Policy::gateway(), ..BridgeOptions::default() };
    let gateway = Gateway::with(Era::Legacy, "{}", options).await;
    let part = Part::Server("two".into());
    let (client, _inbox) = gateway.client_of(Version::LATEST, "{}", "me", part).await;
    let tools = client.list(switchboard_wire::client::List::Tools).await.unwrap();
    let all = tools.items.iter().all(|tool| tool.as_str().contains(r#""name":"two__"#));
    assert!(all && tools.items.len() == 7, "{:?}", tools.items);
    gateway.engine.shutdown().await;
}
