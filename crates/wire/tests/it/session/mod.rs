//! Tests of client sessions against scripted peers, on a paused clock.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cancelling;
mod era;
mod era_http;
mod expiry;
mod flood;
mod headers;
mod ids;
mod legacy_tasks;
mod limits;
mod listening;
mod modern_tasks;
mod peer;
mod questions;
mod repeating;
mod resuming;
pub(crate) mod web;

pub(crate) use peer::{Peer, answering, initialized};

use switchboard_wire::{
    Error,
    client::{
        Client, ClientOptions, Exchange, ExchangeEvent, InputRequest, ServerInbox, ServerTarget,
        VersionNegotiation,
    },
    json::Raw,
};

pub(crate) use crate::suite::{http_target, member, options, raw};

/// Runs a test on a paused clock. When all tasks wait, an hour passes at once.
pub(crate) fn bounded(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let hour = std::time::Duration::from_hours(1);
    let ended = runtime.block_on(async { tokio::time::timeout(hour, test).await });
    ended.expect("all wait for one another");
}

/// Connects to a peer that `play` plays. Returns the peer as it was left.
pub(crate) async fn connect_with<F, R>(
    options: ClientOptions,
    play: F,
) -> (Result<(Client, ServerInbox), Error>, Peer)
where
    F: FnOnce(Peer) -> R,
    R: Future<Output = Peer>,
{
    let (peer, target) = Peer::new();
    tokio::join!(Client::connect(target, options), play(peer))
}

/// A client of a 2025-11-25 peer with these capabilities.
pub(crate) async fn legacy(capabilities: &str) -> (Client, ServerInbox, Peer) {
    let (connected, peer) = connect_with(options(VersionNegotiation::Probe), async |mut peer| {
        peer.shake_hands(capabilities).await;
        peer
    })
    .await;
    let (client, inbox) = connected.unwrap();
    (client, inbox, peer)
}

/// A client of a modern peer with these capabilities.
pub(crate) async fn modern(capabilities: &str) -> (Client, ServerInbox, Peer) {
    let (connected, peer) = connect_with(options(VersionNegotiation::Probe), async |mut peer| {
        peer.discovered(capabilities).await;
        peer
    })
    .await;
    let (client, inbox) = connected.unwrap();
    (client, inbox, peer)
}

/// A client of the server at `url`.
pub(crate) async fn over_http(
    url: &str,
    options: ClientOptions,
) -> Result<(Client, ServerInbox), Error> {
    Client::connect(ServerTarget::Http(http_target(url)), options).await
}

pub(crate) async fn asked(exchange: &mut Exchange) -> Vec<InputRequest> {
    match exchange.next().await.unwrap() {
        ExchangeEvent::NeedsInput(questions) => questions,
        other => panic!("no question: {other:?}"),
    }
}

pub(crate) async fn done(exchange: &mut Exchange) -> Raw {
    loop {
        match exchange.next().await.unwrap() {
            ExchangeEvent::Done(result) => return result,
            ExchangeEvent::NeedsInput(questions) => panic!("asked {questions:?}"),
            _ => {}
        }
    }
}
