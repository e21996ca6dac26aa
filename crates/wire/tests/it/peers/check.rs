//! One conversation for any server, with the expected answers as data.

use std::time::Duration;

use switchboard_wire::client::{
    CallRequest, Client, ExchangeEvent, InboxEvent, ListKind, ServerInbox,
};
use switchboard_wire::json::Raw;
use switchboard_wire::meta::method;
use switchboard_wire::{Era, Version};

use super::server::Connected;
use super::{raw, text};

/// The time for a call beside a cancelled one; much shorter than the cancelled one takes.
const SOON: Duration = Duration::from_secs(20);

/// The expected answers of a server. `None`: the server does not offer the feature.
pub(super) struct Expected {
    pub(super) version: Version,
    /// The number of listed tools, prompts, resources, templates.
    pub(super) lists: [Option<usize>; 4],
    /// A tool, its arguments, and a part of the answer.
    pub(super) call: (&'static str, String, &'static str),
    /// A resource, and a part of its text.
    pub(super) read: Option<(&'static str, &'static str)>,
    /// A prompt, its arguments, and a part of its text.
    pub(super) prompt: Option<(&'static str, &'static str, &'static str)>,
    /// The parameters of a completion, and one of the values.
    pub(super) complete: Option<(&'static str, &'static str)>,
    /// A tool with progress, arguments for a quick call and for one of at least a minute, and the
    /// number of reports of the quick one.
    pub(super) slow: Option<(&'static str, &'static str, &'static str, usize)>,
    /// A resource to subscribe to.
    pub(super) subscribe: Option<&'static str>,
}

/// Runs the conversation. The connection stays open for checks of particular servers.
pub(super) async fn check(connected: &mut Connected, expected: &Expected) {
    let Connected { client, inbox, .. } = connected;
    let server = client.server_facts();
    assert_eq!(server.version, expected.version);
    assert!(server.name().is_some(), "{server:?}");
    lists(client, expected).await;
    call(client, expected).await;
    if let Some((uri, part)) = expected.read {
        let read = client.call(CallRequest::read_resource(uri)).result().await.unwrap();
        assert!(read.as_str().contains(part), "{read}");
    }
    if let Some((name, arguments, part)) = expected.prompt {
        let prompt = client.call(CallRequest::get_prompt(name, &raw(arguments)));
        let prompt = prompt.result().await.unwrap();
        assert!(prompt.as_str().contains(part), "{prompt}");
    }
    if let Some((params, value)) = expected.complete {
        let params = raw(params);
        let completion = client.request(method::COMPLETE, Some(&params)).await;
        let completion = completion.unwrap();
        assert!(completion.as_str().contains(value), "{completion}");
    }
    if server.has_capability(&["logging"]) {
        client.set_log_level("debug").await.unwrap();
    }
    if let Some(uri) = expected.subscribe {
        tokio::select! {
            subscribed = client.subscribe(uri) => subscribed.unwrap(),
            () = sample(inbox) => {}
        }
        client.unsubscribe(uri).await.unwrap();
    }
    if let Some((tool, quick, long, steps)) = expected.slow {
        progress(client, tool, quick, steps).await;
        cancel(client, tool, long).await;
        call(client, expected).await;
    }
    refusal(client).await;
}

/// The answer of a model.
pub(super) fn haiku() -> Raw {
    raw(r#"{"role":"assistant","model":"m","content":{"type":"text","text":"a haiku"}}"#)
}

/// Answers questions outside any call: some old servers ask for sampling before they accept a
/// subscription.
async fn sample(inbox: &mut ServerInbox) {
    while let Ok(incoming) = inbox.next().await {
        if let InboxEvent::Question(question) = incoming {
            assert_eq!(question.method(), method::SAMPLE);
            question.answer(Ok(haiku())).await.unwrap();
        }
    }
}

async fn lists(client: &Client, expected: &Expected) {
    let lists = [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates];
    for (list, wanted) in lists.into_iter().zip(expected.lists) {
        let listing = client.list(list).await;
        let found = listing.as_ref().ok().map(|listing| listing.items.len());
        assert_eq!(found, wanted, "{list:?}: {listing:?}");
        let Ok(listing) = listing else { continue };
        assert!(listing.excluded.is_empty() && listing.cut_short.is_none());
        assert!(client.server_facts().has_capability(&[list.capability()]), "{list:?}");
        assert!(listing.items.iter().all(|item| !text(item, "name").is_empty()));
    }
}

async fn call(client: &Client, expected: &Expected) {
    let (tool, arguments, part) = &expected.call;
    let call = CallRequest::call_tool(tool, &raw(arguments.as_str())).with_timeout(SOON);
    let result = client.call(call).result().await.unwrap();
    assert!(result.as_str().contains(part), "{result}");
    assert!(!matches!(result.get("isError"), Ok(Some(error)) if error.as_str() == "true"));
}

/// Checks that progress comes in order, and before the result.
async fn progress(client: &Client, tool: &str, arguments: &str, steps: usize) {
    let call = CallRequest::call_tool(tool, &raw(arguments)).with_progress().with_timeout(SOON);
    let mut exchange = client.call(call);
    let mut seen: Vec<f64> = Vec::new();
    loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::Progress(params) => {
                seen.push(params.get("progress").unwrap().unwrap().decode().unwrap());
            }
            ExchangeEvent::Done(_) => break,
            _ => {}
        }
    }
    assert_eq!(seen.len(), steps, "{seen:?}");
    assert!(seen.is_sorted(), "{seen:?}");
}

/// Cancels a call once it is known to run.
async fn cancel(client: &Client, tool: &str, arguments: &str) {
    let mut exchange = client.call(CallRequest::call_tool(tool, &raw(arguments)).with_progress());
    let first = tokio::time::timeout(SOON, exchange.next()).await;
    let first = first.expect("no progress").unwrap();
    assert!(matches!(first, ExchangeEvent::Progress(_)), "{first:?}");
}

/// Checks that an unknown method is refused and the connection continues.
async fn refusal(client: &Client) {
    let error = client.request("no/such/method", None).await.unwrap_err();
    assert!(error.code().is_some() && !error.is_fatal(), "{error}");
    if client.server_facts().era() == Era::Legacy {
        client.request(method::PING, None).await.unwrap();
    }
}
