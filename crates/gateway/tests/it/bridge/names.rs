//! Tests that texts for a client use the client's tool names, in every style, so that their advice works.

use std::collections::BTreeSet;

use switchboard_config::PermissionMode;
use switchboard_core::catalog::NameStyle;
use switchboard_gateway::bridge::BridgeOptions;
use switchboard_gateway::view_provider::ViewSelection;
use switchboard_wire::client::{CallRequest, Client, ExchangeEvent, ListKind};
use switchboard_wire::{Era, Version};

use super::{ALL, Gateway, raw, soon};

/// A view of servers, and the style of its tool names.
struct Place {
    servers: &'static [&'static str],
    style: NameStyle,
    part: ViewSelection,
    /// The prefix of tool names.
    prefix: &'static str,
}

fn places() -> Vec<Place> {
    let both = ["one", "two"].as_slice();
    let one = || ViewSelection::Server("one".into());
    let place = |servers, style, part, prefix| Place { servers, style, part, prefix };
    vec![
        place(both, NameStyle::Full, ViewSelection::Everything, "mcp__one__"),
        place(both, NameStyle::Gateway, ViewSelection::Everything, "one__"),
        place(both, NameStyle::Gateway, one(), "one__"),
        place(both, NameStyle::Full, one(), "mcp__one__"),
        place(&["one"], NameStyle::Bare, ViewSelection::Everything, ""),
        place(&["one"], NameStyle::Bare, one(), ""),
    ]
}

impl Place {
    async fn open(&self, settings: &str, mode: Option<PermissionMode>) -> (Gateway, Client) {
        let options = BridgeOptions { names: self.style, mode, ..BridgeOptions::default() };
        let gateway = Gateway::before(self.servers, Era::Modern, settings, options).await;
        let (client, inbox) =
            gateway.client_of(Version::LATEST, ALL, "me", self.part.clone()).await;
        drop(inbox);
        (gateway, client)
    }
}

/// All quoted texts in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

async fn names(client: &Client, list: ListKind) -> BTreeSet<String> {
    let listing = soon(client.list(list)).await.unwrap();
    listing.items.iter().map(|item| item.get("name").unwrap().unwrap().to_text().unwrap()).collect()
}

#[tokio::test]
async fn a_suggested_name_can_be_called() {
    for place in places() {
        let (gateway, client) = place.open("{}", None).await;
        let prefix = place.prefix;
        let listed = names(&client, ListKind::Tools).await;
        // A typing error, a missing tool, and the names of other styles.
        let elsewhere = ["echo", "mcp__one__echo", "one__echo", "one__ecko", "mcp__one__ecko"];
        let here = ["ecko", "count_it"].map(|name| format!("{prefix}{name}"));
        for typed in elsewhere.map(str::to_owned).into_iter().chain(here) {
            if listed.contains(&typed) {
                continue;
            }
            let refused =
                soon(client.call(CallRequest::call_tool(&typed, &raw("{}"))).result()).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.code(), Some(-32602), "{refused}");
            let said = quoted(&refused.to_string());
            let (name, advice) = said.split_first().unwrap();
            assert_eq!(*name, typed, "{refused}");
            assert!(!advice.is_empty(), "{refused}");
            for name in advice {
                assert!(listed.contains(name), "`{name}` is not listed: {refused}");
                let result =
                    soon(client.call(CallRequest::call_tool(name, &raw("{}"))).result()).await;
                // `ask` exists too, and asks a question.
                let code = result.as_ref().err().map(switchboard_wire::Error::code);
                assert!(matches!(code, None | Some(None)), "{name}: {result:?}");
            }
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_suggested_prompt_can_be_filled_in() {
    for place in places() {
        let (gateway, client) = place.open("{}", None).await;
        let listed = names(&client, ListKind::Prompts).await;
        let typed = format!("{}greett", place.prefix);
        let refused = soon(client.call(CallRequest::get_prompt(&typed, &raw("{}"))).result()).await;
        let said = quoted(&refused.unwrap_err().to_string());
        let expected: Vec<_> = said[1..].iter().filter(|name| listed.contains(*name)).collect();
        assert_eq!(said[0], typed);
        assert!(!expected.is_empty() && expected.len() == said.len() - 1, "{said:?}");
        for name in expected {
            soon(client.call(CallRequest::get_prompt(name, &raw("{}"))).result()).await.unwrap();
        }
        gateway.engine.shutdown().await;
    }
}

#[tokio::test]
async fn refusals_and_questions_name_the_tool_as_the_client_does() {
    for place in places() {
        let echo = format!("{}echo", place.prefix);
        let denied = r#"{"permissions":{"deny":["mcp__one__echo"]}}"#;
        let (gateway, client) = place.open(denied, None).await;
        let refused = soon(client.call(CallRequest::call_tool(&echo, &raw("{}"))).result())
            .await
            .unwrap_err();
        assert_eq!(quoted(&refused.to_string())[0], echo, "{refused}");
        gateway.engine.shutdown().await;

        let (gateway, client) = place.open("{}", Some(PermissionMode::Default)).await;
        let mut exchange = client.call(CallRequest::call_tool(&echo, &raw("{}")));
        let message = loop {
            match soon(exchange.next()).await.unwrap() {
                ExchangeEvent::NeedsInput(questions) => break questions[0].params.to_string(),
                ExchangeEvent::Done(result) => panic!("{result}"),
                _ => {}
            }
        };
        assert!(message.contains(&format!("wants to call {echo} on ")), "{message}");
        gateway.engine.shutdown().await;
    }
}
