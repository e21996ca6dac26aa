//! Tests of capability classes: the declared capabilities, visible tools and number of connections of different
//! clients.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_config::PermissionMode;
use switchboard_core::dispatch::QuestionAnswer;
use switchboard_core::engine::{ClientExtensions, EngineEventKind, QuestionAnswerer, Session};
use switchboard_core::{CallEvent, Caller, EngineProblemKind, Request};
use switchboard_testkit::processes;
use switchboard_testkit::programs::program;
use switchboard_wire::Era;
use switchboard_wire::json::Raw;

use super::script::{Bench, Script, raw, said};

/// The extension for whose clients the fixture has a tool.
const EXTENDED: &str = "fixture.example/extended";
const PATIENCE: Duration = Duration::from_secs(30);

fn session(id: &str, capabilities: &Value) -> Session {
    Session {
        capabilities: raw(capabilities),
        mode: Some(PermissionMode::BypassPermissions),
        ..Session::new(id)
    }
}

async fn call(bench: &Bench, caller: &Caller, tool: &str) -> String {
    let request = Request::tool(tool, &Raw::empty_object());
    said(&bench.engine.call(caller, request).outcome().await.unwrap().result)
}

/// What a server was told of elicitation and sampling.
async fn told(bench: &Bench, caller: &Caller, server: &str) -> String {
    let told = call(bench, caller, &format!("mcp__{server}__capabilities")).await;
    let mut told: Value = serde_json::from_str(&told).unwrap();
    // Tasks are ours.
    told.as_object_mut().unwrap().remove("extensions");
    told.to_string()
}

/// The tools that a session sees.
async fn tools(bench: &Bench, caller: &Caller) -> Vec<String> {
    bench.engine.bind_session(caller, PATIENCE).await;
    let catalog = bench.engine.catalog_of(caller).unwrap();
    catalog.tools().iter().map(|listed| listed.name.clone()).collect()
}

/// A legacy server with a tool for everyone, and one for clients that have a model.
fn choosy() -> Script {
    Script::new(&["capabilities"]).legacy().with_tool_for("sampling", "think")
}

#[tokio::test]
async fn each_kind_of_client_is_declared_as_it_is_and_sees_its_own_tools() {
    let mut bench = Bench::new().await;
    bench.serve("one", choosy());
    bench.settled().await;
    let check = async |id: &str, declared: Value, told: &str, expected: &[&str]| {
        let caller = bench.attach(session(id, &declared));
        assert_eq!(tools(&bench, &caller).await, expected, "{declared}");
        assert_eq!(call(&bench, &caller, "mcp__one__capabilities").await, told, "{declared}");
        caller
    };
    let (all, none) = (["mcp__one__capabilities", "mcp__one__think"], ["mcp__one__capabilities"]);
    let callers = [
        check("plain", json!({ "roots": {} }), "{}", &none).await,
        check("forms", json!({ "elicitation": {} }), r#"{"elicitation":{"form":{}}}"#, &none).await,
        check("model", json!({ "sampling": {} }), r#"{"sampling":{}}"#, &all).await,
        check("plain too", json!({}), "{}", &none).await,
    ];
    // What others declare changes nothing for those who were there.
    assert_eq!(tools(&bench, &callers[0]).await, none);
    bench
        .engine
        .call(&callers[0], Request::tool("mcp__one__think", &Raw::empty_object()))
        .outcome()
        .await
        .unwrap_err();
    drop(callers);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_modern_server_is_told_with_each_call_what_its_caller_can_do() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", Script::new(&["capabilities"]));
    bench.settled().await;
    let (form, page) =
        (r#"{"elicitation":{"form":{}}}"#, r#"{"elicitation":{"form":{},"url":{}}}"#);
    let plain = bench.attach(session("plain", &json!({})));
    let forms = bench.attach(session("forms", &json!({ "elicitation": {} })));
    assert_eq!(told(&bench, &plain, "one").await, "{}");
    assert_eq!(told(&bench, &forms, "one").await, form);
    let watching = bench.engine.queue().watch();
    assert_eq!(told(&bench, &plain, "one").await, page, "the queue is watched");
    assert_eq!(told(&bench, &forms, "one").await, page, "the queue is watched");
    drop(watching);
    assert_eq!(told(&bench, &plain, "one").await, "{}");
    assert_eq!(script.opened.load(Ordering::SeqCst), 0, "one connection, made by the engine");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn options_of_known_capabilities_reach_servers_of_both_eras() {
    let mut bench = Bench::new().await;
    bench.serve("legacy", choosy());
    let modern = bench.serve("modern", Script::new(&["capabilities"]));
    bench.settled().await;
    let declared = json!({ "elicitation": { "form": { "depth": 1 }, "later": {} } });
    let caller = bench.attach(session("options", &declared));
    for server in ["legacy", "modern"] {
        assert_eq!(told(&bench, &caller, server).await, declared.to_string(), "{server}");
    }
    assert_eq!(modern.opened.load(Ordering::SeqCst), 0, "its lists do not depend on options");
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn the_queue_answers_for_clients_without_forms_where_settings_say_so() {
    let mut bench = Bench::new().await;
    let folder = bench.folder.path().join(".config/switchboard");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), r#"{"questions":{"elicitation":"queue"}}"#)
        .unwrap();
    bench.serve("legacy", choosy());
    bench.serve("modern", Script::new(&["capabilities"]));
    bench.settled().await;
    let caller = bench.attach(session("plain", &json!({})));
    for server in ["legacy", "modern"] {
        let told = told(&bench, &caller, server).await;
        assert_eq!(told, r#"{"elicitation":{"form":{},"url":{}}}"#, "{server}");
    }
    bench.engine.shutdown().await;
}

/// What a person should know of how servers are shared.
async fn sharing_problems(bench: &Bench) -> Vec<String> {
    let problems = &bench.settled().await.problems;
    let sharing = problems.iter().filter(|problem| problem.kind == EngineProblemKind::Sharing);
    sharing.map(|problem| problem.message.clone()).collect()
}

#[tokio::test]
async fn a_fifth_class_shares_the_largest_that_promises_nothing_it_lacks() {
    let mut bench = Bench::new().await;
    bench.serve("one", choosy());
    bench.settled().await;
    let declared = [
        json!({ "sampling": {} }),
        json!({ "elicitation": {} }),
        json!({ "elicitation": { "url": {} } }),
        json!({ "sampling": {}, "elicitation": {} }),
    ];
    let mut callers = Vec::new();
    for (number, declared) in declared.iter().enumerate() {
        let caller = bench.attach(session(&number.to_string(), declared));
        call(&bench, &caller, "mcp__one__capabilities").await;
        callers.push(caller);
    }
    assert_eq!(sharing_problems(&bench).await, [""; 0]);
    let check = async |id: &str, declared: Value, told: &str| {
        let caller = bench.attach(session(id, &declared));
        assert_eq!(call(&bench, &caller, "mcp__one__capabilities").await, told, "{declared}");
        caller
    };
    let tooled = json!({ "sampling": { "tools": {} }, "elicitation": { "form": {} } });
    let both = r#"{"elicitation":{"form":{}},"sampling":{}}"#;
    let further = [check("tooled", tooled, both).await, check("plain", json!({}), "{}").await];
    assert_eq!(sharing_problems(&bench).await.len(), 1);
    drop((callers, further));
    bench.engine.shutdown().await;
}

/// What is reported of the extensions of the last client that was attached.
async fn last_client(bench: &Bench) -> ClientExtensions {
    bench.settled().await.extensions.clients.last().cloned().unwrap()
}

#[tokio::test]
async fn extensions_are_a_part_of_the_class_and_what_is_withheld_is_reported() {
    let mut bench = Bench::new().await;
    bench.serve("one", choosy());
    bench.settled().await;
    let declared = |name: &str| json!({ "extensions": { name: { "n": 1 } } });
    let mut callers = Vec::new();
    for name in ["a/a", "b/b", "c/c", "d/d"] {
        let caller = bench.attach(session(name, &declared(name)));
        let told = call(&bench, &caller, "mcp__one__capabilities").await;
        assert_eq!(told, declared(name).to_string(), "a server hears a client's own extensions");
        assert_eq!(last_client(&bench).await.lost, []);
        callers.push(caller);
    }
    // Its connection promises nothing that it lacks.
    let fifth = bench.attach(session("e/e", &declared("e/e")));
    assert_eq!(call(&bench, &fifth, "mcp__one__capabilities").await, "{}");
    let [lost] = &last_client(&bench).await.lost[..] else { panic!("nothing is reported") };
    assert_eq!(lost.server.as_deref(), Some("one"));
    assert_eq!(lost.reason, "too many kinds of clients use it at once");
    drop((callers, fifth));
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn one_connection_for_all_declares_no_extensions_and_that_is_reported() {
    for era in ["legacy", "modern"] {
        let bench = Bench::new().await;
        let entry = json!({ "command": program("fixture-server"), "share": "always", "era": era });
        let configuration = json!({ "mcpServers": { "one": entry } });
        bench.engine.apply(&bench.workspace, bench.desired(&configuration));
        bench.settled().await;
        let caller = bench.attach(session("s", &json!({ "extensions": { EXTENDED: {} } })));
        assert!(!tools(&bench, &caller).await.contains(&"mcp__one__extended".to_owned()), "{era}");
        let [lost] = &last_client(&bench).await.lost[..] else { panic!("nothing is reported") };
        assert_eq!(lost.server.as_deref(), Some("one"), "{era}");
        assert!(lost.reason.contains(r#""share": "always""#), "{era}: {}", lost.reason);
        bench.engine.shutdown().await;
    }
}

/// A client that sees one server gets the list as it is.
#[tokio::test]
async fn members_of_lists_are_reported_where_there_are_several_servers() {
    let bench = Bench::new().await;
    let server = json!({ "command": program("fixture-server") });
    let one = json!({ "mcpServers": { "one": server } });
    let both = json!({ "mcpServers": { "one": server, "two": server } });
    for (configuration, expected) in [(one, vec![]), (both, vec!["one", "two"])] {
        bench.engine.apply(&bench.workspace, bench.desired(&configuration));
        let snapshot = bench.settled().await;
        let reported: Vec<&str> =
            snapshot.extensions.servers.iter().map(|server| &*server.server).collect();
        assert_eq!(reported, expected);
        for server in &snapshot.extensions.servers {
            let names: Vec<&str> = server.lost.iter().map(|lost| &*lost.name).collect();
            assert_eq!(names, ["`odd` of `tools/list`"]);
        }
    }
    bench.engine.shutdown().await;
}

/// A legacy client comes first, so that the server's default connection becomes a legacy one.
#[tokio::test]
async fn a_modern_client_sees_the_tools_of_its_extensions_beside_a_legacy_one() {
    let bench = Bench::new().await;
    let entry = json!({ "command": program("fixture-server") });
    let configuration = json!({ "mcpServers": { "one": entry } });
    bench.engine.apply(&bench.workspace, bench.desired(&configuration));
    bench.settled().await;
    let of = |id: &str, era: Era, declared: Value| {
        bench.attach(Session { era: Some(era), ..session(id, &declared) })
    };
    let extended = json!({ "extensions": { EXTENDED: {} } });
    let legacy = of("legacy", Era::Legacy, json!({}));
    call(&bench, &legacy, "mcp__one__echo").await;
    for (id, era, declared, expected) in [
        ("modern", Era::Modern, extended.clone(), true),
        ("plain", Era::Modern, json!({}), false),
        ("legacy too", Era::Legacy, extended, true),
    ] {
        let caller = of(id, era, declared);
        let shown = tools(&bench, &caller).await;
        assert_eq!(shown.contains(&"mcp__one__extended".to_owned()), expected, "{id}: {shown:?}");
        call(&bench, &caller, "mcp__one__echo").await;
    }
    drop(legacy);
    bench.engine.shutdown().await;
}

/// Two clients with forms on one server whose questions name no call: while one is asked, the other gets its own
/// answers, over a connection of its own.
#[tokio::test]
async fn a_session_that_is_being_asked_does_not_cost_another_its_questions() {
    let mut bench = Bench::new().await;
    let script =
        bench.serve("one", Script::new(&["ask"]).legacy().with_tool_for("sampling", "think"));
    bench.settled().await;
    let declared = json!({ "elicitation": {}, "sampling": {} });
    let (a, b) = (bench.attach(session("a", &declared)), bench.attach(session("b", &declared)));
    let ask = || Request::tool("mcp__one__ask", &Raw::empty_object());
    let answer =
        |name: &str| QuestionAnswer::Result(Ok(raw(&json!({ "action": "accept", "name": name }))));
    let mut first = bench.engine.call(&a, ask());
    let Ok(CallEvent::Question(open)) = first.next().await else { panic!("a is not asked") };
    for round in ["once", "twice"] {
        let mut second = bench.engine.call(&b, ask());
        let outcome = loop {
            tokio::select! {
                event = first.next() => panic!("{event:?}"),
                event = second.next() => match event.unwrap() {
                    CallEvent::Question(question) => question.answer(answer(round)),
                    CallEvent::Done(outcome) => break outcome,
                    _ => {}
                },
            }
        };
        assert!(said(&outcome.result).contains(round), "{}", said(&outcome.result));
    }
    open.answer(answer("a"));
    let outcome = first.outcome().await.unwrap();
    assert!(said(&outcome.result).contains("\"a\""), "{}", said(&outcome.result));
    // The engine's, that of the class, and b's own.
    assert_eq!(script.opened.load(Ordering::SeqCst), 3);
    bench.engine.shutdown().await;
}

#[tokio::test]
async fn a_session_hears_of_what_happens_on_the_connections_that_its_calls_take() {
    let mut bench = Bench::new().await;
    let script = bench.serve("one", choosy());
    bench.settled().await;
    let plain = bench.attach(session("plain", &json!({})));
    let model = bench.attach(session("model", &json!({ "sampling": {} })));
    for caller in [&plain, &model] {
        tools(&bench, caller).await;
    }
    let mut events = bench.engine.events();
    script.relist(&["capabilities", "more"]);
    let mut heard = [0, 0];
    while heard != [1, 1] {
        let event = tokio::time::timeout(PATIENCE, events.recv()).await.unwrap().unwrap();
        let (EngineEventKind::List(_), Some(key)) = (&event.what, event.connection) else {
            continue;
        };
        let takes =
            [&plain, &model].map(|caller| bench.engine.uses_connection(caller, key.number()));
        assert!(takes == [true, false] || takes == [false, true], "{takes:?}");
        heard = [heard[0] + usize::from(takes[0]), heard[1] + usize::from(takes[1])];
    }
    bench.engine.shutdown().await;
}

/// How many processes of a server that speaks both eras there are, after a session has listed, after it has called, and
/// after a modern session has called too.
async fn processes_of(entry: Value, era: Option<Era>) -> ([usize; 3], Vec<String>) {
    let bench = Bench::new().await;
    let command = program("fixture-server");
    let mut server = json!({ "command": command });
    for (key, value) in entry.as_object().unwrap() {
        server[key] = value.clone();
    }
    let configuration = json!({ "mcpServers": { "one": server } });
    bench.engine.apply(&bench.workspace, bench.desired(&configuration));
    bench.settled().await;
    let declared = json!({ "elicitation": { "form": {}, "url": {} } });
    let caller =
        bench.attach(Session { era, answers: QuestionAnswerer::Caller, ..session("s", &declared) });
    let count = || processes::working_in(bench.folder.path()).len();
    assert!(tools(&bench, &caller).await.contains(&"mcp__one__echo".to_owned()));
    let listed = count();
    call(&bench, &caller, "mcp__one__echo").await;
    let settled = async {
        // What is replaced ends by itself.
        while count() > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(20), settled).await;
    let after_call = count();
    let modern = Session { era: Some(Era::Modern), ..session("modern", &declared) };
    let modern = bench.attach(modern);
    call(&bench, &modern, "mcp__one__echo").await;
    call(&bench, &caller, "mcp__one__echo").await;
    let found = ([listed, after_call, count()], sharing_problems(&bench).await);
    drop((caller, modern));
    bench.engine.shutdown().await;
    found
}

#[tokio::test]
async fn a_server_of_both_eras_is_spoken_to_in_the_era_of_each_client() {
    let check = async |entry: Value, era: Option<Era>, expected: [usize; 3]| {
        let (found, problems) = processes_of(entry.clone(), era).await;
        assert_eq!(found, expected, "{entry} {era:?}");
        assert_eq!(problems.len(), expected[2] - 1, "{entry} {era:?}: {problems:?}");
    };
    check(json!({}), None, [1, 1, 1]).await;
    check(json!({}), Some(Era::Modern), [1, 1, 1]).await;
    check(json!({}), Some(Era::Legacy), [1, 1, 2]).await;
    check(json!({ "era": "modern" }), Some(Era::Legacy), [1, 1, 1]).await;
    check(json!({ "era": "legacy" }), Some(Era::Legacy), [1, 1, 1]).await;
    check(json!({ "share": "always" }), Some(Era::Legacy), [1, 1, 1]).await;
}
