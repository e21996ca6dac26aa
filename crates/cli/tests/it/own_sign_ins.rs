//! Tests of the credentials of several users of one `serve`: each has its own sign-ins, and none uses those of the
//! person who runs the hub unless an entry lends them.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_testkit::http::Scripted;
use switchboard_testkit::programs::program;
use switchboard_wire::client::{CallRequest, Client, ListKind, ServerInbox};
use switchboard_wire::json::Raw;

use crate::guarding::{Serving, json as output_json};
use crate::principals::{FACES, connect};
use crate::signed_out::{Bank, Era};
use crate::signing_in::by_hand;
use crate::{Home, Story};

/// The clients of one user.
pub(crate) type Clients = Vec<(Client, ServerInbox)>;

pub(crate) fn user_token(home: &Home, user: &str) -> String {
    let created = output_json(home, &["token", "create", "--user", user]);
    created["token"].as_str().unwrap().to_owned()
}

/// Under which access token a call reaches the server, or why it is refused.
pub(crate) async fn account(client: &Client) -> Result<String, String> {
    let call = CallRequest::call_tool("web__whoami", &Raw::empty_object());
    let result = client.call(call).result().await.map_err(|error| error.to_string())?;
    let result: Value = result.decode().unwrap();
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    if result["isError"] == true { Err(text) } else { Ok(text) }
}

/// The clients of one user: one for each way in.
pub(crate) async fn clients(serving: &Serving, token: &str) -> Clients {
    let connecting = FACES.iter().map(|face| connect(serving, *face, token));
    futures_util::future::join_all(connecting).await
}

/// Mixed calls of all clients of all users at once. Every call reaches the server under its own user's account.
async fn check(users: &[(&Clients, Option<&str>)], about: &str) {
    let calls = users.iter().flat_map(|(clients, expected)| {
        let many = clients.iter().flat_map(|client| std::iter::repeat_n(client, 5));
        many.map(move |(client, _)| async move { (account(client).await, *expected) })
    });
    let calls: Vec<_> = calls.collect();
    for (found, expected) in futures_util::future::join_all(calls).await {
        match (&found, expected) {
            (Err(why), None) => assert!(why.contains("sign"), "{about}: {why}"),
            _ => assert_eq!(found.as_deref().ok(), expected, "{about}: {found:?}"),
        }
    }
}

#[test]
fn every_call_goes_by_the_sign_in_of_its_own_principal() {
    for era in [Era::Modern, Era::Legacy] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let bank = Arc::new(Bank::new(era));
        let server = runtime.block_on(Scripted::start(move |request| {
            let bank = bank.clone();
            async move { bank.answer(&request) }
        }));
        let mut story = Story::new();
        story.quietly(&["add", "-s", "user", "web", &server.url("/mcp")]);
        let code = &[("code", "c")][..];
        by_hand(&mut story, &["login", "web", "--no-browser"], code);
        let [ada, bob] = ["ada", "bob"].map(|user| user_token(&story.home, user));
        let serving = Serving::start(&story.home, &["--auth", "token"]);
        let local = |story: &Story| {
            let output = story.quietly(&["call", "web/whoami"]);
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };

        assert_eq!(local(&story), "access-1", "{era:?}");
        let (ada, bob) = runtime
            .block_on(async { (clients(&serving, &ada).await, clients(&serving, &bob).await) });
        let all = |of_ada, of_bob, about: &str| {
            runtime
                .block_on(check(&[(&ada, of_ada), (&bob, of_bob)], &format!("{era:?}: {about}")));
        };
        all(None, None, "nobody but the local person is signed in");
        by_hand(&mut story, &["login", "web", "--no-browser", "--for", "user:ada"], code);
        all(Some("access-2"), None, "one of them is");
        by_hand(&mut story, &["login", "web", "--no-browser", "--for", "user:bob"], code);
        all(Some("access-2"), Some("access-3"), "both are");
        by_hand(&mut story, &["login", "web", "--no-browser", "--for", "user:ada"], code);
        all(Some("access-4"), Some("access-3"), "one signed in again");
        assert_eq!(local(&story), "access-1", "{era:?}");

        let listed = output_json(&story.home, &["accounts"]);
        let accounts = listed["accounts"].as_array().unwrap().iter();
        let who: Vec<_> = accounts.map(|account| account["principal"].as_str().unwrap()).collect();
        assert_eq!(who, ["local", "user:ada", "user:bob"]);
        assert!(!listed.to_string().contains("access-"), "{listed}");

        story.quietly(&["logout", "web", "--for", "user:ada"]);
        all(None, Some("access-3"), "one signed out");
        story.quietly(&["logout", "--all"]);
        all(None, Some("access-3"), "the local person signed out");
        assert_ne!(local(&story), "access-3", "{era:?}");
        by_hand(&mut story, &["login", "web", "--no-browser"], code);
        all(None, Some("access-3"), "the local person signed in again");
        assert_eq!(local(&story), "access-5", "{era:?}");
    }
}

#[test]
fn what_an_entry_holds_serves_the_person_who_runs_the_hub_alone_unless_it_is_lent() {
    let home = Home::new();
    let notes = |more: Value| {
        let mut entry = json!({ "command": program("notebook"), "era": "modern" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let env = json!({ "API_KEY": "hush" });
    let settings = json!({ "mcpServers": {
        "plain": notes(json!({})),
        "personal": notes(json!({ "env": env })),
        "lent": notes(json!({ "env": env, "signIn": "shared" })),
        // What the server remembers is shared, and the key is not.
        "common": notes(json!({ "env": env, "sharePrincipals": true })),
    } });
    let config = home.path().join(".config/switchboard");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("settings.json"), settings.to_string()).unwrap();
    let ada = user_token(&home, "ada");
    let me = output_json(&home, &["token", "create", "--me"])["token"].as_str().unwrap().to_owned();
    let serving = Serving::start(&home, &["--auth", "token"]);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for (token, servers) in
            [(&ada, &["lent", "plain"][..]), (&me, &["common", "lent", "personal", "plain"])]
        {
            for face in FACES {
                let (client, _inbox) = connect(&serving, face, token).await;
                let listed = client.list(ListKind::Tools).await.unwrap().items;
                let mut names: Vec<String> = listed
                    .iter()
                    .filter_map(|tool| tool.get("name").unwrap()?.to_text())
                    .filter_map(|name| Some(name.strip_suffix("__read")?.to_owned()))
                    .collect();
                names.sort();
                assert_eq!(names, servers, "{face:?}");
                for server in ["common", "lent", "personal", "plain"] {
                    let tool = format!("{server}__read");
                    let call = CallRequest::call_tool(&tool, &Raw::empty_object());
                    let said = match client.call(call).result().await {
                        Ok(result) => result.to_string(),
                        Err(error) => error.to_string(),
                    };
                    let is_refused = said.contains("the person who runs this switchboard");
                    assert_eq!(is_refused, !servers.contains(&server), "{face:?} {server}: {said}");
                    assert_eq!(said.contains("`env.API_KEY`"), is_refused, "{said}");
                    assert!(!said.contains("hush"), "{said}");
                }
                client.close().await;
            }
        }
    });
    // The explanation of a call says what the call does.
    for (server, verdict) in
        [("plain", "allow"), ("lent", "allow"), ("personal", "deny"), ("common", "deny")]
    {
        let tool = format!("{server}/read");
        let explained = output_json(&home, &["permissions", "explain", &tool, "--as", "user:ada"]);
        let is_listed = verdict == "allow";
        assert_eq!(
            (&explained["verdict"], &explained["listed"]),
            (&json!(verdict), &json!(is_listed))
        );
        let reason = explained["reason"].as_str().unwrap();
        assert_eq!(reason.contains("`env.API_KEY` of the person who runs"), !is_listed, "{reason}");
    }
    let case = json!([{ "tool": "personal/read", "as": "user:ada", "expect": "deny" }]);
    std::fs::write(home.path().join("cases.json"), case.to_string()).unwrap();
    let tested = output_json(&home, &["permissions", "test", "cases.json"]);
    assert_eq!(
        (&tested["passed"], &tested["cases"][0]["because"]["by"]),
        (&json!(1), &json!("not-lent"))
    );
    // Whoever runs the hub notices nothing of it.
    for server in ["plain", "personal", "lent", "common"] {
        let output = home.command(&["call", &format!("{server}/read")]).output().unwrap();
        assert!(output.status.success(), "{server}: {output:?}");
    }
}
