//! Tests of lists: pages, unchanged items, and an end to endless lists.

use switchboard_wire::{
    client::{CallRequest, ListKind, ListTruncation},
    json::Raw,
};

use super::{Bench, connect, member, options, over_all_five, raw};

over_all_five!(
    pages_are_put_together,
    odd_items_stay_as_they_are,
    a_cursor_that_goes_in_circles_ends_the_list,
    a_list_without_end_is_cut_short,
    completion_is_passed_through,
    a_prompt_is_had,
);

async fn pages_are_put_together(bench: Bench) {
    let prompts = bench.client.list(ListKind::Prompts).await.unwrap();
    let items: Vec<_> = prompts.items.iter().map(Raw::as_str).collect();
    assert_eq!(
        items,
        [r#"{"name":"one"}"#, r#"{"odd":1.0}"#, r#"{"name":"two"}"#, r#"{"name":"three"}"#]
    );
    assert_eq!(prompts.cut_short, None);
}

async fn odd_items_stay_as_they_are(bench: Bench) {
    let tools = bench.client.list(ListKind::Tools).await.unwrap();
    assert_eq!(tools.items.len(), 4);
    assert_eq!(
        tools.items[0].as_str(),
        r#"{"name":"echo","inputSchema":{"type":"object"},"x":{"y":1.0}}"#
    );
    assert_eq!(tools.items[1].as_str(), r#"{"name":"bare"}"#);
    assert_eq!(tools.items[2].as_str(), r#"{"odd":true}"#);
    assert!(tools.excluded.is_empty());
}

async fn a_cursor_that_goes_in_circles_ends_the_list(bench: Bench) {
    let resources = bench.client.list(ListKind::Resources).await.unwrap();
    assert_eq!(resources.cut_short, Some(ListTruncation::Circle));
    assert_eq!(resources.items.len(), 2);
}

async fn a_list_without_end_is_cut_short(bench: Bench) {
    let mut options = options(bench.greeting);
    options.limits.max_pages = 7;
    let bench = connect(bench.transport, options).await.unwrap();
    let templates = bench.client.list(ListKind::Templates).await.unwrap();
    assert_eq!(templates.cut_short, Some(ListTruncation::TooManyPages(7)));
    let numbers: Vec<_> = templates.items.iter().map(|item| member(item, "n")).collect();
    assert_eq!(numbers, ["0", "1", "2", "3", "4", "5", "6"]);
}

async fn completion_is_passed_through(bench: Bench) {
    let params =
        raw(r#"{"ref":{"type":"ref/prompt","name":"one"},"argument":{"name":"a","value":"b"}}"#);
    let result = bench.client.request("completion/complete", Some(&params)).await.unwrap();
    assert_eq!(member(&result, "completion"), r#"{"values":["alpha","beta"],"total":2,"odd":1.0}"#);
}

async fn a_prompt_is_had(bench: Bench) {
    let call = CallRequest::get_prompt("one", &raw("{}"));
    let result = bench.client.call(call).result().await.unwrap();
    assert_eq!(member(&result, "odd"), "[1e400]");
}
