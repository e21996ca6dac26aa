//! The test that types the page about several people: from nothing to three who share one switchboard.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_testkit::http::Scripted;
use switchboard_wire::client::{CallRequest, Client, Exchange, ExchangeEvent};
use switchboard_wire::json::Raw;

use crate::Story;
use crate::guarding::{Serving, json as output_json};
use crate::principals::connect_able;
use crate::sign_in_links::{ASKING_FACES, Browser, accept, asked, end};
use crate::signed_out::{Bank, Era};
use crate::signing_in::{back_from, by_hand};

/// The commands of the page, in order.
fn commands() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/teams.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```text\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    lines.map(str::to_owned).collect()
}

fn whoami(client: &Client) -> Exchange {
    client.call(CallRequest::call_tool("tracker__whoami", &Raw::empty_object()))
}

async fn client(serving: &Serving, token: &str) -> Client {
    let able = json!({ "elicitation": { "form": {}, "url": {} } });
    connect_able(serving, ASKING_FACES[0], token, &able).await.0
}

/// Under which access token a call reaches the server; `None` where a link is offered instead.
async fn account(serving: &Serving, token: &str) -> Option<String> {
    let client = client(serving, token).await;
    let (mut running, mut was_offered) = (whoami(&client), false);
    loop {
        match running.next().await {
            Ok(ExchangeEvent::NeedsInput(questions)) => {
                was_offered = true;
                running.answer(questions.iter().map(|question| question.refuse("no")).collect());
            }
            Ok(ExchangeEvent::Done(result)) => {
                let result: Value = result.decode().unwrap();
                return Some(result["content"][0]["text"].as_str().unwrap().to_owned());
            }
            Ok(_) => {}
            Err(error) => {
                assert!(
                    was_offered && error.to_string().contains("needs authentication"),
                    "{error}"
                );
                return None;
            }
        }
    }
}

/// What the request of a line with `curl` answers.
fn curl(serving: &Serving, line: &str, token: &str) -> String {
    let line = line.replace("$TOKEN", token);
    let (options, url) = line.rsplit_once(' ').unwrap();
    let path = url.strip_prefix("https://hub.example:7420").unwrap();
    let (name, value) = options.split('"').nth(1).unwrap().split_once(": ").unwrap();
    assert!(options.starts_with("curl -X POST -H "), "{options}");
    let (status, answer) = serving.send(&format!("POST {path}"), &[(name, value)], "");
    assert_eq!(status, 200, "{answer}");
    answer.lines().last().unwrap().to_owned()
}

#[test]
fn three_people_share_one_switchboard_as_the_page_types_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tracker = Arc::new(Bank::new(Era::Modern));
    let server = runtime.block_on(Scripted::start(move |request| {
        let tracker = tracker.clone();
        async move { tracker.answer(&request) }
    }));
    let mut story = Story::new();
    let (mut tokens, mut serving, mut typed) = (Vec::<String>::new(), None, BTreeSet::new());
    for command in commands() {
        let command = command.replace("https://tracker.example/mcp", &server.url("/mcp"));
        // The page serves beyond the machine.
        let command = command.replace(
            "--listen 0.0.0.0:7420 --tls-cert hub.pem --tls-key hub.key",
            "--listen 127.0.0.1:0",
        );
        let words: Vec<&str> = command.split(' ').collect();
        typed.insert(words[1].to_owned());
        match words[..] {
            ["curl", ..] => {
                let serving = serving.as_ref().unwrap();
                runtime.block_on(async {
                    let ada = client(serving, &tokens[0]).await;
                    let mut running = whoami(&ada);
                    let (question, link) = asked(&mut running).await;
                    let mut browser = Browser::new(serving);
                    browser.enter_code(&link, &curl(serving, &command, &tokens[0]));
                    let back = back_from(&browser.page_of(&link), &[("code", "c")]);
                    assert_eq!(browser.get(back.as_str()).0, 200);
                    accept(&mut running, &question);
                    assert_eq!(end(running).await, "access-1");
                });
            }
            ["switchboard", "token", "create", ..] => {
                let created = output_json(&story.home, &words[1..]);
                tokens.push(created["token"].as_str().unwrap().to_owned());
            }
            ["switchboard", "serve", ..] => {
                let started = Serving::start(&story.home, &words[2..]);
                for token in &tokens {
                    assert_eq!(runtime.block_on(account(&started, token)), None);
                }
                serving = Some(started);
            }
            ["switchboard", "login", ..] => {
                let args = [&words[1..], &["--no-browser"]].concat();
                by_hand(&mut story, &args, &[("code", "c")]);
                let serving = serving.as_ref().unwrap();
                let known = runtime.block_on(account(serving, &tokens[0]));
                assert_eq!(known.as_deref(), Some("access-2"));
            }
            ["switchboard", ..] => {
                let output = story.quietly(&words[1..]);
                assert!(output.status.success(), "{command}: {}", story.home.shown(&output));
                let said = String::from_utf8(output.stdout).unwrap();
                assert!(words[1] != "accounts" || said.contains("user:ada"), "{said}");
            }
            _ => panic!("{command}"),
        }
    }
    let expected = ["-X", "accounts", "add", "login", "logout", "serve", "token"];
    assert_eq!(typed.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    let serving = serving.unwrap();
    for token in &tokens {
        assert_eq!(runtime.block_on(account(&serving, token)), None, "it was signed out");
    }
    // Three people, each by their own name.
    let calls = output_json(&story.home, &["logs", "--audit"])["calls"].clone();
    let calls = calls.as_array().unwrap().iter();
    let who: BTreeSet<_> = calls
        .map(|call| call["principal"].as_str().unwrap().split('@').next().unwrap().to_owned())
        .collect();
    let expected = ["nightly", "user:ada", "user:bob"];
    assert_eq!(who.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
