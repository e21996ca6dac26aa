//! Tests of the lists of a connection: read on connect, read again on change or age, kept on failure.

use std::time::Duration;

use switchboard_core::connection::RawList;
use switchboard_testkit::scripted::{Part, Said, Scripted};
use switchboard_wire::client::ListKind;

use super::bench::{Bench, pass, seconds, shared, timing};

const EVERYTHING: &str = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{}}"#;
const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const RESOURCES_CHANGED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;

fn result(text: &str) -> Said {
    Said::Result(text.to_owned())
}

fn generous() -> std::sync::Arc<Scripted> {
    let server = Scripted::new([Part::Serves]);
    server.offer(EVERYTHING);
    server.answer("prompts/list", result(r#"{"prompts":[{"name":"p"}]}"#));
    server.answer("resources/list", result(r#"{"resources":[{"uri":"a:b"},{"uri":"a:c"}]}"#));
    server
}

/// How many items there are, and how far they can be relied on.
fn told(list: &RawList) -> String {
    let items = match &list.listing {
        Some(listing) => listing.items.len().to_string(),
        None => "unknown".into(),
    };
    let stale = if list.is_stale() { ", stale" } else { "" };
    let problem = if list.problem.is_some() { ", problem" } else { "" };
    format!("{items}{stale}{problem}")
}

fn tools(count: usize, more: &str) -> Said {
    let tools = vec![r#"{"name":"t"}"#; count].join(",");
    Said::Result(format!(r#"{{"tools":[{tools}]{more}}}"#))
}

#[tokio::test(start_paused = true)]
async fn what_is_offered_is_read_and_the_rest_is_empty() {
    let bench = Bench::new([Part::Serves]);
    assert!(!bench.connection.knows_lists());
    bench.until_known().await;
    let lists = bench.connection.lists();
    let all = [&lists.tools, &lists.prompts, &lists.resources, &lists.templates].map(told);
    assert_eq!(all, ["1", "0", "0", "0"]);
    assert_eq!(lists.facts.as_ref().unwrap().name().as_deref(), Some("scripted"));
    assert_eq!(bench.server.asked("prompts/list"), 0);

    // A server that has resources and has never heard of templates has none.
    let bench = Bench::with(generous(), shared(timing()));
    bench.until_known().await;
    let lists = bench.connection.lists();
    let all = [&lists.tools, &lists.prompts, &lists.resources, &lists.templates].map(told);
    assert_eq!(all, ["1", "1", "2", "0"]);
}

/// Calls need not wait for lists, nor one list for another.
#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_come_holds_up_nothing() {
    let server = generous();
    server.answer("prompts/list", Said::Nothing);
    let bench = Bench::with(server, shared(timing()));
    bench.connection.ready().await.unwrap();
    pass(seconds(1)).await;
    let lists = bench.connection.lists();
    assert_eq!([told(&lists.tools), told(&lists.prompts)], ["1", "unknown"]);
    assert!(!bench.connection.knows_lists());
    pass(seconds(100)).await;
    assert!(bench.connection.knows_lists());
    assert_eq!(told(&bench.connection.lists().prompts), "unknown, stale, problem");
    assert_eq!(bench.connection.state().word(), "connected");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_changed_is_read_again() {
    let bench = Bench::with(generous(), shared(timing()));
    bench.until_known().await;
    let before = bench.connection.lists().generation;
    bench.heard.take();
    bench.server.answer("tools/list", tools(3, ""));
    bench.server.say(TOOLS_CHANGED);
    pass(seconds(1)).await;
    assert_eq!(bench.heard.take(), ["0.0 read tools"]);
    assert_eq!(told(&bench.connection.lists().tools), "3");
    assert!(bench.connection.lists().generation > before);
    assert_eq!(bench.server.asked("prompts/list"), 1);

    bench.server.say(RESOURCES_CHANGED);
    pass(seconds(1)).await;
    let mut heard = bench.heard.take();
    heard.sort();
    assert_eq!(heard, ["1.0 read resourceTemplates", "1.0 read resources again"]);
    assert_eq!(bench.connection.state().word(), "connected");
}

/// However often it changes while it is read, it is read once more.
#[tokio::test(start_paused = true)]
async fn changes_while_a_list_is_read_are_one_change() {
    let bench = Bench::new([Part::Serves]);
    bench.until_known().await;
    bench.server.answer("tools/list", Said::Nothing);
    for _ in 0..20 {
        bench.server.say(TOOLS_CHANGED);
    }
    pass(seconds(30)).await;
    assert_eq!(bench.server.asked("tools/list"), 2);
    assert_eq!(told(&bench.connection.lists().tools), "1, stale");
    bench.server.answer("tools/list", tools(2, ""));
    pass(seconds(60)).await;
    assert_eq!(bench.server.asked("tools/list"), 3);
    assert_eq!(told(&bench.connection.lists().tools), "2");
}

/// A server that says so each time it is asked is not asked all the time.
#[tokio::test(start_paused = true)]
async fn a_list_that_changes_all_the_time_is_read_only_so_often() {
    let server = Scripted::new([Part::Serves]);
    let list = r#"{"tools":[]}"#.to_owned();
    server.answer("tools/list", Said::ResultThen(list, TOOLS_CHANGED.to_owned()));
    let bench = Bench::with(server, shared(timing()));
    pass(Duration::from_millis(9_500)).await;
    // Four at once, then one a second.
    assert_eq!(bench.server.asked("tools/list"), 4 + 9);
    assert_eq!(bench.connection.state().word(), "connected");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_read_again_stays_as_it_was() {
    let bench = Bench::new([Part::Serves]);
    bench.until_known().await;
    bench.heard.take();
    bench.server.answer("tools/list", Said::Error(-32603));
    bench.server.say(TOOLS_CHANGED);
    pass(seconds(1)).await;
    assert_eq!(bench.heard.take(), ["0.0 could not read tools"]);
    assert_eq!(told(&bench.connection.lists().tools), "1, stale, problem");
    bench.server.answer("tools/list", tools(2, ""));
    bench.connection.refresh(ListKind::Tools);
    pass(seconds(1)).await;
    assert_eq!(told(&bench.connection.lists().tools), "2");
}

/// Nobody asks a server that nobody uses.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_old_is_read_again_when_somebody_looks() {
    let server = Scripted::new([Part::Serves]);
    server.answer("tools/list", tools(1, r#","ttlMs":10000"#));
    let bench = Bench::with(server, shared(timing()));
    bench.until_known().await;
    let asked = |times| assert_eq!(bench.server.asked("tools/list"), times);
    pass(seconds(9)).await;
    bench.connection.lists();
    pass(seconds(1000)).await;
    asked(1);
    bench.server.answer("tools/list", tools(2, r#","ttlMs":10000"#));
    assert_eq!(told(&bench.connection.lists().tools), "1, stale");
    pass(seconds(1)).await;
    asked(2);
    assert_eq!(told(&bench.connection.lists().tools), "2");
    bench.connection.lists();
    pass(seconds(1)).await;
    asked(2);
}

/// A list that is old at once is not read all the time.
#[tokio::test(start_paused = true)]
async fn a_list_is_read_again_once_a_second_at_most() {
    let server = Scripted::new([Part::Serves]);
    server.answer("tools/list", tools(1, r#","ttlMs":0"#));
    let bench = Bench::with(server, shared(timing()));
    bench.until_known().await;
    for _ in 0..100 {
        bench.connection.lists();
        pass(Duration::from_millis(50)).await;
    }
    let asked = bench.server.asked("tools/list");
    assert!((5..=6).contains(&asked), "{asked} times in five seconds");
}

#[tokio::test(start_paused = true)]
async fn lists_outlive_their_session_and_are_read_again_by_the_next() {
    let bench = Bench::new([Part::ServesFor(seconds(5)), Part::Serves]);
    bench.until_known().await;
    bench.until("failed").await;
    pass(Duration::from_millis(1)).await;
    assert_eq!(told(&bench.connection.lists().tools), "1, stale");
    bench.server.answer("tools/list", tools(2, ""));
    bench.until("connected").await;
    pass(seconds(1)).await;
    assert_eq!(told(&bench.connection.lists().tools), "2");
}

/// Of servers that are no longer configured the lists of the last twenty are kept.
#[tokio::test(start_paused = true)]
async fn lists_of_former_servers_are_kept() {
    let shared = shared(timing());
    let start = |index: usize, part| {
        let server = Scripted::new([part]);
        let spec = super::bench::spec(&index.to_string(), &server);
        Bench::of(spec, server, shared.clone())
    };
    for index in 0..21 {
        let bench = start(index, Part::Serves);
        bench.until_known().await;
        bench.connection.stop().await;
    }
    assert_eq!(told(&start(20, Part::Hangs).connection.lists().tools), "1, stale");
    assert_eq!(told(&start(1, Part::Hangs).connection.lists().tools), "1, stale");
    assert_eq!(told(&start(0, Part::Hangs).connection.lists().tools), "unknown");
}

/// What else a server says is passed on.
#[tokio::test(start_paused = true)]
async fn what_a_server_says_is_heard() {
    let bench = Bench::new([Part::Serves]);
    bench.until_known().await;
    bench.heard.take();
    let check = async |text: &str, expected: &str| {
        bench.server.say(text);
        pass(seconds(1)).await;
        let heard = bench.heard.take();
        let words: Vec<_> = heard.iter().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(words, [expected], "{text}");
    };
    let note = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
    };
    check(&note("notifications/message", r#"{"level":"info","data":1}"#), "log").await;
    check(&note("notifications/resources/updated", r#"{"uri":"a:b"}"#), "updated a:b").await;
    check(&note("notifications/elicitation/complete", "{}"), "elicitation complete").await;
    check(&note("notifications/odd", "{}"), "says notifications/odd").await;
    check("nonsense", "unreadable").await;
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
    check(question, "asks elicitation/create").await;
}
