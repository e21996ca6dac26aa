//! Passing messages on, both ways at once.
//!
//! The directions do not wait for each other: a client that sends much before it reads anything must not find itself
//! held up by us.

use std::time::Duration;

use switchboard_wire::{
    envelope::{MalformedMessage, MalformedShape, Response},
    link::{LinkFrame, LinkReader, LinkWriter},
};
use tokio::{
    task::yield_now,
    time::{sleep, timeout},
};

use super::{
    AttachOptions,
    client::{ClientLink, ClientReader},
    connect::HubLink,
    journal::SharedJournal,
};

/// How long a hub that was told that nothing more will come may take to close.
const HUB_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Messages of the hub in a row, before the client is looked at.
const MAX_MESSAGES_IN_A_ROW: usize = 32;

/// Who left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelayEnd {
    Hub,
    Client,
}

/// Passes messages on until the hub closes, or the client has closed and was answered.
pub(super) async fn relay(
    options: &AttachOptions,
    book: &SharedJournal,
    client: &mut ClientLink,
    hub: HubLink,
) -> RelayEnd {
    let ClientLink { writer, incoming } = &mut *client;
    let up = async {
        // What is passed on is then written in the same turn.
        tokio::join!(biased; relay_to_hub(options, book, incoming, writer, hub.writer), hub.writing);
        // The hub was told, or takes nothing more. Its last answers may be under way.
        sleep(HUB_CLOSE_TIMEOUT).await;
    };
    let left = tokio::select! {
        // The hub's end is noticed before anything more is read for it: what the client said since is for the next.
        biased;
        left = relay_to_client(book, hub.reader, writer) => left,
        () = up => RelayEnd::Hub,
    };
    if client.is_gone() { RelayEnd::Client } else { left }
}

/// From the client to the hub. Ends when the client has closed and its answers are there, or the hub takes no more.
async fn relay_to_hub(
    options: &AttachOptions,
    book: &SharedJournal,
    incoming: &mut ClientReader,
    to_client: &LinkWriter,
    hub: LinkWriter,
) {
    while let Some(frame) = incoming.next().await {
        let text = match frame {
            LinkFrame::Text(text) => book.lock().take_from_client(text),
            LinkFrame::Broken(malformed) => {
                answer_malformed(&malformed, to_client).await;
                None
            }
        };
        if let Some(text) = text
            && hub.send(text).await.is_err()
        {
            return;
        }
    }
    let _ = timeout(options.timing.finish, book.wait_until_settled()).await;
}

/// A message that is too large, or no text, never reaches the hub.
async fn answer_malformed(malformed: &MalformedMessage, to_client: &LinkWriter) {
    if malformed.looks == MalformedShape::LikeAnAnswer {
        tracing::warn!(%malformed, "an answer of the client is lost");
        return;
    }
    let response = Response::error(malformed.id.as_ref(), &malformed.to_rpc_error());
    // A client that is gone needs no answer.
    let _ = to_client.send(response.text().clone()).await;
}

/// From the hub to the client. Ends when either closes.
async fn relay_to_client(
    book: &SharedJournal,
    mut hub: LinkReader,
    to_client: &LinkWriter,
) -> RelayEnd {
    let mut in_a_row = 0_usize;
    while let Ok(Some(frame)) = hub.next().await {
        in_a_row += 1;
        if in_a_row.is_multiple_of(MAX_MESSAGES_IN_A_ROW) {
            yield_now().await;
        }
        let text = match frame {
            LinkFrame::Text(text) => book.take_from_hub(text),
            LinkFrame::Broken(malformed) => book.broken_from_hub(&malformed),
        };
        if let Some(text) = text
            && to_client.send(text).await.is_err()
        {
            return RelayEnd::Client;
        }
    }
    RelayEnd::Hub
}
