//! Test of remembered permission answers, listed and forgotten by command and admin API while a hub runs.

use serde_json::{Value, json};
use switchboard_testkit::programs::program;

use crate::Story;
use crate::admin::{Hub, event, object};
use crate::gateway::{Client, stop};

/// A project whose every call of `kiosk` is asked about.
fn story() -> Story {
    let story = Story::new();
    let kiosk = program("kiosk");
    story.quietly(&["add", "-s", "user", "kiosk", "--", kiosk.to_str().unwrap()]);
    let rules = json!({ "permissions": { "ask": ["mcp__kiosk"] } });
    story.write(".switchboard/settings.json", &rules.to_string());
    story
}

/// Calls a tool that is asked about, and has somebody answer the question.
fn call_and_answer(client: &mut Client, hub: &Hub, answer: &Value) -> Result<Value, Value> {
    let (_, mut events) = hub.ask("GET", "/api/v1/events?attend=1", "");
    assert_eq!(event(&mut events).0, "ready");
    let id = client.send("tools/call", &json!({ "name": "kiosk__erase", "arguments": {} }));
    let question = loop {
        let (name, data) = event(&mut events);
        if name == "question" {
            break data["id"].as_str().unwrap().to_owned();
        }
    };
    let path = format!("/api/v1/questions/{question}");
    assert_eq!(hub.ask("POST", &path, &answer.to_string()).0, 204);
    client.hear(id)
}

#[test]
fn an_answer_is_seen_and_taken_back_while_the_hub_runs() {
    let mut story = story();
    let mut client = Client::spawn(story.command(&["connect"]));
    let hub = Hub::of(&story.home);
    story.run(&["permissions", "list"]);

    let always = json!({ "action": "allow", "remember": "always" });
    call_and_answer(&mut client, &hub, &always).unwrap();
    client.call("kiosk__erase").expect("nobody is asked again");
    // Its id is made from the server's command, too.
    let listed = story.quietly(&["permissions", "list", "--json"]).stdout;
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    story.replace(listed["answers"][0]["id"].as_str().unwrap(), "0a1b2c3d");
    story.run(&["permissions", "list"]);
    story.run(&["permissions", "forget", "kiosk/erase"]);
    story.run(&["permissions", "list"]);
    client.call("kiosk__erase").expect_err("it is asked again, and nobody attends");

    let never = json!({ "action": "deny", "remember": "never" });
    call_and_answer(&mut client, &hub, &never).unwrap_err();
    let answers = object(hub.ask("GET", "/api/v1/answers", "").1);
    assert_eq!(answers["answers"][0]["answer"], "never", "{answers}");
    let id = answers["answers"][0]["id"].as_str().unwrap();
    let path = format!("/api/v1/answers/{id}");
    let (status, forgotten) = hub.ask("DELETE", &path, "");
    assert_eq!((status, &object(forgotten)["forgotten"]), (200, &answers["answers"]));
    assert_eq!(hub.ask("DELETE", &path, "").0, 404);
    call_and_answer(&mut client, &hub, &always).expect("the no is over");

    story.run(&["permissions", "forget", "nobody"]);
    story.run(&["permissions", "forget", "--all", "--json"]);
    story.run(&["permissions", "forget", "--all"]);
    story.run(&["permissions", "forget"]);
    insta::assert_snapshot!("permissions", story.transcript());
    client.leave();
    stop(&story.home);
}

/// A settings file that is not JSON may hold a rule that denies the call: a command that starts then must not call.
#[test]
fn nothing_is_called_while_the_rules_cannot_be_read() {
    let mut story = Story::new();
    let kiosk = program("kiosk");
    story.quietly(&["add", "kiosk", "--", kiosk.to_str().unwrap()]);
    story
        .write("../.config/switchboard/settings.json", r#"{"permissions":{"deny":["mcp__kiosk"]}"#);
    story.run(&["call", "kiosk/say", "text=hello"]);
    story.write("../.config/switchboard/settings.json", r#"{"permissions":{"deny":"mcp__kiosk"}}"#);
    story.run(&["call", "kiosk/say", "text=hello"]);
    story.write(
        "../.config/switchboard/settings.json",
        r#"{"permissions":{"deny":["mcp__other"]}}"#,
    );
    story.run(&["call", "kiosk/say", "text=hello"]);
    insta::assert_snapshot!("permissions_unclear", story.transcript());
}
