//! Tests of cancelled calls: the server gets the cancellation, and never before the call.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use switchboard_testkit::http::{Reply, Scripted};
use switchboard_wire::client::{
    CallRequest, Client, Exchange, ServerInbox, ServerTarget, VersionNegotiation,
};
use tokio::sync::mpsc;

use super::{
    bounded, http_target, initialized, legacy, member, options, raw,
    web::{self, Asked, methods, web},
};
use crate::http::soon;

/// Starts a call and does not poll it further.
fn begun(client: &Client) -> Exchange {
    let mut exchange = client.call(CallRequest::call_tool("slow", &raw("{}")));
    assert!(exchange.next().now_or_never().is_none());
    exchange
}

/// Sends notifications until the channel is full.
fn fill(client: &Client) -> usize {
    let mut said = 0;
    while client.notify("notifications/x", None).now_or_never().is_some() {
        said += 1;
    }
    said
}

#[test]
fn a_full_queue_loses_no_cancellation() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let calls = [begun(&client), begun(&client)];
        let said = fill(&client);
        assert!(said > 100, "{said}");
        drop(calls);
        let ids = [peer.expect("tools/call").await, peer.expect("tools/call").await]
            .map(|call| call.id());
        for _ in 0..said {
            peer.hear("notifications/x").await;
        }
        for id in ids {
            let cancelled = peer.hear("notifications/cancelled").await;
            assert_eq!(member(&cancelled, "requestId"), id.to_string());
        }
        // The session continues.
        let (result, ()) = tokio::join!(client.request("x/y", None), async {
            let next = peer.expect("x/y").await;
            peer.answer(&next, "{}").await;
        });
        result.unwrap();
    });
}

#[test]
fn a_call_that_was_never_sent_is_not_cancelled() {
    bounded(async {
        let (client, _inbox, mut peer) = legacy("{}").await;
        let said = fill(&client);
        drop([begun(&client), begun(&client)]);
        for _ in 0..said {
            peer.hear("notifications/x").await;
        }
        let (result, ()) = tokio::join!(client.request("x/y", None), async {
            let next = peer.expect("x/y").await;
            peer.answer(&next, "{}").await;
        });
        result.unwrap();
    });
}

/// Many calls are dropped while they are being sent, and each is cancelled after it was sent.
async fn check_many(server: &Scripted, (client, _inbox): (Client, ServerInbox)) {
    const CALLS: usize = 200;
    let calls: Vec<_> = (0..CALLS).map(|_| begun(&client)).collect();
    drop(calls);
    let messages = || -> Vec<(String, String)> {
        let requests = server.requests().into_iter().map(Asked::new);
        let id = |asked: &Asked| match &*asked.method {
            "notifications/cancelled" => member(&asked.params, "requestId"),
            _ => asked.id.clone(),
        };
        requests.map(|asked| (asked.method.clone(), id(&asked))).collect()
    };
    let is_cancelled = |(method, _): &&(String, String)| method == "notifications/cancelled";
    soon(async {
        let mut count = 2 * CALLS;
        while messages().iter().filter(is_cancelled).count() < CALLS {
            server.received(count).await;
            count += 1;
        }
    })
    .await;
    let messages = messages();
    for (at, (_, id)) in messages.iter().enumerate().filter(|(_, message)| is_cancelled(message)) {
        let call = ("tools/call".to_owned(), id.clone());
        assert!(messages[..at].contains(&call), "the cancellation of {id} came before its call");
    }
}

/// A call is dropped while it is being sent, and cancelled after it was sent.
async fn check(server: &Scripted, (client, _inbox): (Client, ServerInbox)) {
    drop(begun(&client));
    let both = || {
        let methods = methods(server);
        let at = |wanted: &str| methods.iter().position(|method| method == wanted);
        Some((at("tools/call")?, at("notifications/cancelled")?))
    };
    let (call, cancelled) = soon(async {
        let mut count = 0;
        loop {
            count += 1;
            server.received(count).await;
            if let Some(both) = both() {
                return both;
            }
        }
    })
    .await;
    assert!(call < cancelled, "{:?}", methods(server));
}

#[tokio::test]
async fn over_http_a_cancellation_does_not_overtake_its_call() {
    for reply in [|| Reply::events().hang(), Reply::silence] {
        let server = web(move |asked| match &*asked.method {
            "tools/call" => reply(),
            _ => web::legacy(asked, "{}"),
        })
        .await;
        let target = ServerTarget::Http(http_target(&server.url("/mcp")));
        let connected =
            soon(Client::connect(target, options(VersionNegotiation::Probe))).await.unwrap();
        check(&server, connected).await;
    }
}

#[tokio::test]
async fn over_http_no_cancellation_of_many_overtakes_its_call() {
    let server = web(|asked| match &*asked.method {
        "tools/call" => Reply::events().hang(),
        _ => web::legacy(asked, "{}"),
    })
    .await;
    let target = ServerTarget::Http(http_target(&server.url("/mcp")));
    let connected =
        soon(Client::connect(target, options(VersionNegotiation::Probe))).await.unwrap();
    check_many(&server, connected).await;
}

/// A server of 2024-11-05 that answers the handshake; `reply` answers other POSTs.
async fn sse(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Scripted {
    let feed: Arc<Mutex<Option<mpsc::UnboundedSender<Vec<u8>>>>> = Arc::default();
    web(move |asked| match &*asked.method {
        "GET" => {
            let (sender, pieces) = mpsc::unbounded_channel();
            sender.send(b"event: endpoint\ndata: /messages\n\n".to_vec()).unwrap();
            *feed.lock().unwrap() = Some(sender);
            Reply::events().feed(pieces)
        }
        "initialize" => {
            let text = asked.response(&initialized("2024-11-05"));
            let event = format!("data: {text}\n\n").into_bytes();
            feed.lock().unwrap().as_ref().unwrap().send(event).unwrap();
            Reply::empty(202)
        }
        _ => reply(asked),
    })
    .await
}

#[tokio::test]
async fn over_sse_a_cancellation_does_not_overtake_its_call() {
    let server = sse(|_| Reply::empty(202)).await;
    let target = ServerTarget::Sse(http_target(&server.url("/sse")));
    let connected =
        soon(Client::connect(target, options(VersionNegotiation::Probe))).await.unwrap();
    check(&server, connected).await;
}

#[tokio::test]
async fn over_sse_no_cancellation_of_many_overtakes_its_call() {
    let server = sse(|_| Reply::empty(202)).await;
    let target = ServerTarget::Sse(http_target(&server.url("/sse")));
    let connected =
        soon(Client::connect(target, options(VersionNegotiation::Probe))).await.unwrap();
    check_many(&server, connected).await;
}

/// The request timeout also applies to POSTs of HTTP+SSE.
#[tokio::test]
async fn over_sse_a_post_has_the_deadline_of_a_request() {
    let server = sse(|asked| match &*asked.method {
        "tools/call" => Reply::silence(),
        _ => Reply::empty(202),
    })
    .await;
    let mut target = http_target(&server.url("/sse"));
    target.options.first_byte = std::time::Duration::from_millis(200);
    let connected = Client::connect(ServerTarget::Sse(target), options(VersionNegotiation::Probe));
    let (client, _inbox) = soon(connected).await.unwrap();
    let error =
        soon(client.call(CallRequest::call_tool("slow", &raw("{}"))).result()).await.unwrap_err();
    assert!(error.to_string().contains("200ms"), "{error}");
}
