//! Tests of handles: valid for one client and one request until they expire, and once for a parked call.

use switchboard_core::results::ResultPolicy;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{
    CallRequest, Client, Exchange, ExchangeEvent, InputResponse, SuspendedExchange,
};
use switchboard_wire::envelope::RpcError;
use switchboard_wire::json::Raw;
use switchboard_wire::{Era, Error, Version};

use super::{ALL, Gateway, asking, raw, soon};

fn accept(key: &str) -> Vec<InputResponse> {
    let outcome = Ok(raw(r#"{"action":"accept","content":{"name":"Ada","decision":"once"}}"#));
    vec![InputResponse { key: key.to_owned(), outcome }]
}

/// Calls a tool until it asks a question. Returns the state and the key of the question.
async fn ask(client: &Client, call: &CallRequest) -> (Raw, String) {
    let mut exchange = client.call(call.clone());
    loop {
        match soon(exchange.next()).await.unwrap() {
            ExchangeEvent::NeedsInput(questions) => {
                let key = questions[0].key.clone();
                match exchange.suspend() {
                    Some(SuspendedExchange::Again { state: Some(state) }) => return (state, key),
                    other => panic!("{other:?}"),
                }
            }
            ExchangeEvent::Done(result) => panic!("{result}"),
            _ => {}
        }
    }
}

/// Repeats a call with its state. Returns the result, or the code and the reason.
async fn again(client: &Client, call: &CallRequest, state: &Raw, key: &str) -> Result<Raw, String> {
    let resume = SuspendedExchange::Again { state: Some(state.clone()) };
    let resumed = client.resume(call, resume, accept(key)).result();
    soon(resumed).await.map_err(|error| match error {
        Error::Rpc(error) => {
            let data = error.data.unwrap();
            let member = |key| data.get(key).unwrap().unwrap().to_text().unwrap();
            let reason = member("reason");
            // A parked call had been started; a request that carries its whole state had not.
            let advice = match member("remedy").as_str() {
                "unknown" => "check before you repeat it",
                _ => "make the call again without it",
            };
            assert!(error.message.contains(advice), "{}", error.message);
            assert!(!matches!(&*reason, "used" | "restarted") || member("remedy") == "unknown");
            format!("{} {reason}", error.code)
        }
        error => error.to_string(),
    })
}

/// The error that ends an exchange.
async fn refusal(exchange: Exchange) -> RpcError {
    match exchange.result().await {
        Err(Error::Rpc(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_handle_is_for_its_own_client_and_request() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _a) = gateway.client(Version::LATEST, ALL).await;
        let everything = ViewSelection::Everything;
        let (stranger, _b) = gateway.client_of(Version::LATEST, ALL, "you", everything).await;
        let part = ViewSelection::Server("one".into());
        let (elsewhere, _c) = gateway.client_of(Version::LATEST, ALL, "me", part).await;
        let call = CallRequest::call_tool("one__ask", &raw(r#"{"a":1,"b":2}"#));
        let (state, key) = ask(&client, &call).await;

        let tool = |name: &str, arguments: &str| CallRequest::call_tool(name, &raw(arguments));
        for (attack, client, call) in [
            ("stolen", &stranger, call.clone()),
            ("another endpoint", &elsewhere, call.clone()),
            ("another server", &client, tool("two__ask", r#"{"a":1,"b":2}"#)),
            ("another tool", &client, tool("one__sample", r#"{"a":1,"b":2}"#)),
            ("other arguments", &client, tool("one__ask", r#"{"a":1,"b":3}"#)),
            ("no arguments", &client, tool("one__ask", "{}")),
            (
                "another method",
                &client,
                CallRequest::get_prompt("one__ask", &raw(r#"{"a":1,"b":2}"#)),
            ),
        ] {
            let refused = again(client, &call, &state, &key).await.unwrap_err();
            assert_eq!(refused, "-32602 foreign", "{era}: {attack}");
        }
        // None of these used the handle up; another spelling of the request is accepted.
        let same = tool("one__ask", r#"{ "b": 2, "a": 1 }"#);
        let result = again(&client, &same, &state, &key).await.unwrap();
        assert!(result.as_str().contains("Ada"), "{result}");
        assert!(result.as_str().contains(r#""state":"state""#), "{result}");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_handle_with_any_letter_changed_is_refused() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
        let call = CallRequest::call_tool("one__ask", &raw("{}"));
        let (state, key) = ask(&client, &call).await;
        let letters = state.to_text().unwrap();
        for at in 0..letters.len() {
            let other = if &letters[at..=at] == "A" { "B" } else { "A" };
            let changed = format!("{}{other}{}", &letters[..at], &letters[at + 1..]);
            let refused = again(&client, &call, &Raw::string(&changed), &key).await;
            assert_eq!(refused.unwrap_err(), "-32602 foreign", "{era}: letter {at}");
        }
        for other in ["", "state", &letters[1..], &format!("{letters}A")] {
            let refused = again(&client, &call, &Raw::string(other), &key).await;
            assert_eq!(refused.unwrap_err(), "-32602 foreign", "{era}: {other}");
        }
        let number = again(&client, &call, &raw("7"), &key).await;
        assert_eq!(number.unwrap_err(), "-32602 foreign");
        assert!(again(&client, &call, &state, &key).await.is_ok());
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_call_that_waits_is_taken_once_and_one_that_does_not_is_its_servers_to_judge() {
    let gateway = Gateway::start(Era::Legacy, "{}").await;
    let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
    let call = CallRequest::call_tool("one__ask", &raw("{}"));
    let (state, key) = ask(&client, &call).await;
    assert!(gateway.engine.calls_in_flight() > 0);
    assert!(again(&client, &call, &state, &key).await.is_ok());
    assert_eq!(again(&client, &call, &state, &key).await.unwrap_err(), "-32602 used");
    gateway.engine.shutdown().await;

    let gateway = Gateway::start(Era::Modern, "{}").await;
    let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
    let (state, key) = ask(&client, &call).await;
    assert_eq!(gateway.engine.calls_in_flight(), 0, "something is held");
    for _ in 0..2 {
        assert!(again(&client, &call, &state, &key).await.is_ok());
    }
    gateway.engine.shutdown().await;

    // A permission question is answered once, for any server behind it.
    let gateway = Gateway::with(Era::Modern, "{}", asking()).await;
    let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
    let call = CallRequest::call_tool("one__echo", &raw("{}"));
    let (state, key) = ask(&client, &call).await;
    assert!(again(&client, &call, &state, &key).await.is_ok());
    assert_eq!(again(&client, &call, &state, &key).await.unwrap_err(), "-32602 used");
    gateway.engine.shutdown().await;
}

/// A principal that leaves too many calls without an answer loses its own oldest, and is told so. Each row names what
/// the client is told of it: a call that waited for permission was not sent, and one that its server asks about was.
#[tokio::test]
async fn a_principal_that_parks_too_many_calls_loses_its_own_and_leaves_anothers() {
    for (era, options, tool, remedy) in [
        (Era::Modern, asking(), "echo", "retry"),
        (Era::Legacy, BridgeOptions::default(), "ask", "unknown"),
    ] {
        // One server does not take as many calls at once.
        let servers = ["one", "two", "three"];
        let gateway = Gateway::before(&servers, era, "{}", options).await;
        let everything = || ViewSelection::Everything;
        let (ada, _a) = gateway.client_of(Version::LATEST, ALL, "ada", everything()).await;
        let (bob, _b) = gateway.client_of(Version::LATEST, ALL, "bob", everything()).await;
        let call = |server| CallRequest::call_tool(&format!("{server}__{tool}"), &raw("{}"));
        let of_bob = ask(&bob, &call("one")).await;
        let oldest = ask(&ada, &call("one")).await;
        for server in servers.iter().cycle().take(530) {
            ask(&ada, &call(server)).await;
        }
        let newest = ask(&ada, &call("one")).await;
        let again_for_bob = again(&bob, &call("one"), &of_bob.0, &of_bob.1).await;
        assert!(again_for_bob.is_ok(), "{tool}: {again_for_bob:?}");
        assert!(again(&ada, &call("one"), &newest.0, &newest.1).await.is_ok(), "{tool}");
        let resume = SuspendedExchange::Again { state: Some(oldest.0) };
        let resumed = ada.resume(&call("one"), resume, accept(&oldest.1));
        let refused = soon(refusal(resumed)).await;
        assert!(refused.message.contains("too many of your calls were waiting"), "{refused:?}");
        let data: serde_json::Value = refused.data.unwrap().decode().unwrap();
        assert_eq!(data, serde_json::json!({ "reason": "dropped", "remedy": remedy }), "{tool}");
        gateway.engine.shutdown().await;
    }
}

/// A client may return without `inputResponses`, or with an unusable one: it is asked again, and every handle of the
/// call is still valid once.
#[tokio::test]
async fn a_call_that_comes_back_without_an_answer_is_asked_again() {
    let unusable = |key: &str, outcome: &str| {
        vec![InputResponse { key: key.to_owned(), outcome: Ok(raw(outcome)) }]
    };
    for (era, options, tool) in
        [(Era::Legacy, BridgeOptions::default(), "one__ask"), (Era::Modern, asking(), "one__echo")]
    {
        let gateway = Gateway::with(era, "{}", options).await;
        let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
        let call = CallRequest::call_tool(tool, &raw("{}"));
        for use_latest in [true, false] {
            let (first, key) = ask(&client, &call).await;
            let mut latest = first.clone();
            for answers in [
                Vec::new(),
                accept("another question"),
                unusable(&key, "5"),
                unusable(&key, "{}"),
                unusable(&key, r#"{"action":"frob"}"#),
                unusable(&key, r#"{"action":5}"#),
            ] {
                let resume = SuspendedExchange::Again { state: Some(latest) };
                let mut exchange = client.resume(&call, resume, answers);
                let event = soon(exchange.next()).await.unwrap();
                let ExchangeEvent::NeedsInput(questions) = event else {
                    panic!("{era}: {event:?}")
                };
                assert_eq!(questions[0].key, key, "{era}");
                let Some(SuspendedExchange::Again { state: Some(state) }) = exchange.suspend()
                else {
                    panic!("{era}: no state")
                };
                latest = state;
            }
            let state = if use_latest { latest } else { first };
            let result = again(&client, &call, &state, &key).await.unwrap();
            assert!(result.as_str().contains("content"), "{era}: {result}");
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_restart_loses_only_what_waited() {
    let call = CallRequest::call_tool("one__ask", &raw("{}"));
    for (era, expected) in [(Era::Modern, Ok("Ada")), (Era::Legacy, Err("-32602 restarted"))] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
        let (state, key) = ask(&client, &call).await;
        client.close().await;
        let gateway = gateway.restarted(era).await;
        let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
        let result = again(&client, &call, &state, &key).await;
        match expected {
            Ok(said) => assert!(result.unwrap().as_str().contains(said)),
            Err(refused) => assert_eq!(result.unwrap_err(), refused),
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_expires_and_its_call_is_cancelled() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::LATEST, ALL).await;
        let call = CallRequest::call_tool("one__ask", &raw("{}"));
        let (state, key) = ask(&client, &call).await;
        tokio::time::sleep(std::time::Duration::from_secs(601)).await;
        assert_eq!(gateway.engine.calls_in_flight(), 0);
        assert_eq!(again(&client, &call, &state, &key).await.unwrap_err(), "-32602 expired");
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_call_that_is_taken_back_while_it_asks_is_not_kept() {
    for era in [Era::Legacy, Era::Modern] {
        let gateway = Gateway::start(era, "{}").await;
        let (client, _inbox) = gateway.client(Version::LATEST_LEGACY, ALL).await;
        let mut exchange = client.call(CallRequest::call_tool("one__ask", &raw("{}")));
        while !matches!(soon(exchange.next()).await.unwrap(), ExchangeEvent::NeedsInput(_)) {}
        assert_eq!(gateway.engine.calls_in_flight(), 1, "{era:?}");
        drop(exchange);
        let let_go = async {
            while gateway.engine.calls_in_flight() > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        soon(let_go).await;
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn consent_is_asked_of_a_client_that_can_be_asked() {
    let gateway = Gateway::with(Era::Modern, "{}", asking()).await;
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        let (client, _inbox) = gateway.client(version, ALL).await;
        let mut exchange = client.call(CallRequest::call_tool("one__echo", &raw("{}")));
        let result = loop {
            match soon(exchange.next()).await.unwrap() {
                ExchangeEvent::NeedsInput(questions) => {
                    assert!(questions[0].params.as_str().contains("call one__echo on one"));
                    exchange.answer(accept(&questions[0].key));
                }
                ExchangeEvent::Done(result) => break result,
                _ => {}
            }
        };
        assert!(result.as_str().contains("echo"));
        client.close().await;
    }
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn only_an_answer_that_says_yes_permits_a_call() {
    let gateway = Gateway::with(Era::Modern, "{}", asking()).await;
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        let (client, _inbox) = gateway.client(version, ALL).await;
        for answer in [
            r#"{"action":"accept"}"#,
            r#"{"action":"accept","content":{}}"#,
            r#"{"action":"accept","content":{"decision":null}}"#,
            r#"{"action":"accept","content":{"decision":"no"}}"#,
            r#"{"action":"accept","content":{"decision":"always"}}"#,
            r#"{"action":"decline","content":{"decision":"once"}}"#,
            r#"{"action":"cancel","content":{"decision":"once"}}"#,
            "{}",
        ] {
            if answer == "{}" && version == Version::LATEST {
                // Without an answer, a modern client is asked again.
                continue;
            }
            let mut exchange = client.call(CallRequest::call_tool("one__hang", &raw("{}")));
            let refused = loop {
                match soon(exchange.next()).await {
                    Ok(ExchangeEvent::NeedsInput(questions)) => {
                        let form = questions[0].params.get("requestedSchema").unwrap().unwrap();
                        let is_filled = form.as_str().contains("default");
                        assert!(!is_filled, "a client may fill it in: {form}");
                        let key = questions[0].key.clone();
                        exchange.answer(vec![InputResponse { key, outcome: Ok(raw(answer)) }]);
                    }
                    Ok(ExchangeEvent::Done(result)) => panic!("{answer} permitted it: {result}"),
                    Ok(_) => {}
                    Err(error) => break error.to_string(),
                }
            };
            assert!(refused.contains("`one__hang`"), "{answer}: {refused}");
        }
        client.close().await;
    }
    assert_eq!(*gateway.server.hanging.borrow(), 0, "nothing reached the server");
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn without_anybody_to_ask_a_call_is_refused_with_the_rule_that_would_allow_it() {
    let gateway = Gateway::with(Era::Modern, "{}", asking()).await;
    for version in [Version::LATEST_LEGACY, Version::LATEST] {
        let (client, _inbox) = gateway.client(version, "{}").await;
        let refused = client
            .call(CallRequest::call_tool("one__echo", &raw("{}")))
            .result()
            .await
            .unwrap_err();
        assert!(
            refused.to_string().contains("`mcp__one__echo` under `permissions.allow`"),
            "{refused}"
        );
        client.close().await;
    }
    gateway.engine.shutdown().await;

    // By default the client's own prompt decides, and the first call of a client without capabilities works.
    let gateway = Gateway::start(Era::Modern, "{}").await;
    let (client, _inbox) = gateway.client(Version::V2024_11_05, "{}").await;
    soon(client.call(CallRequest::call_tool("one__echo", &raw("{}"))).result()).await.unwrap();
    gateway.engine.shutdown().await;
}

#[tokio::test]
async fn a_part_shows_one_server() {
    let options = BridgeOptions { results: ResultPolicy::gateway(), ..BridgeOptions::default() };
    let gateway = Gateway::with(Era::Legacy, "{}", options).await;
    let part = ViewSelection::Server("two".into());
    let (client, _inbox) = gateway.client_of(Version::LATEST, "{}", "me", part).await;
    let tools = client.list(switchboard_wire::client::ListKind::Tools).await.unwrap();
    let own = |tool: &&Raw| tool.as_str().contains(r#""name":"two__"#);
    assert_eq!(tools.items.iter().filter(own).count(), 12, "{:?}", tools.items);
    assert_eq!(tools.items.len(), 15, "and the gateway's own: {:?}", tools.items);
    soon(client.call(CallRequest::call_tool("two__echo", &raw("{}"))).result()).await.unwrap();
    let other = soon(client.call(CallRequest::call_tool("one__echo", &raw("{}"))).result())
        .await
        .unwrap_err();
    assert!(other.to_string().contains("`one__echo`"), "{other}");
    gateway.engine.shutdown().await;
}
