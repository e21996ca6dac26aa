//! Relays messages between client and hub, both directions at once.
//!
//! Used by `attach` for as long as one hub lives. The directions do not wait for each other: a client that sends much
//! before it reads must not block. It does not reconnect (`reconnect` does).

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

/// How long a hub may take to close after `connect` has closed its writing half.
const HUB_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Messages of the hub in a row, before the other direction gets a turn.
const MAX_MESSAGES_IN_A_ROW: usize = 32;

/// The side that closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelayEnd {
    Hub,
    Client,
}

/// Relays messages until the hub closes, or the client has closed and its requests were answered.
pub(super) async fn relay(
    options: &AttachOptions,
    journal: &SharedJournal,
    client: &mut ClientLink,
    hub: HubLink,
) -> RelayEnd {
    let ClientLink { writer, incoming } = &mut *client;
    let up = async {
        // In this order, so that a message is written in the turn in which it was passed on.
        tokio::join!(biased; relay_to_hub(options, journal, incoming, writer, hub.writer), hub.writing);
        // The hub knows that no more will come, or reads no more. Its last answers may still arrive.
        sleep(HUB_CLOSE_TIMEOUT).await;
    };
    let left = tokio::select! {
        // The hub's end is noticed before another message is read: that message is for the next hub.
        biased;
        left = relay_to_client(journal, hub.reader, writer) => left,
        () = up => RelayEnd::Hub,
    };
    if client.is_gone() { RelayEnd::Client } else { left }
}

/// From the client to the hub. Ends when the client has closed and was answered, or the hub reads no more.
async fn relay_to_hub(
    options: &AttachOptions,
    journal: &SharedJournal,
    incoming: &mut ClientReader,
    to_client: &LinkWriter,
    hub: LinkWriter,
) {
    while let Some(frame) = incoming.next().await {
        let text = match frame {
            LinkFrame::Text(text) => journal.lock().take_from_client(text),
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
    let _ = timeout(options.timing.finish, journal.wait_until_settled()).await;
}

/// Answers a message that is too large or not UTF-8; it never reaches the hub.
async fn answer_malformed(malformed: &MalformedMessage, to_client: &LinkWriter) {
    if malformed.looks == MalformedShape::LikeAnAnswer {
        tracing::warn!(%malformed, "an answer of the client is lost");
        return;
    }
    let response = Response::error(malformed.id.as_ref(), &malformed.to_rpc_error());
    // A client that has closed needs no answer.
    let _ = to_client.send(response.text().clone()).await;
}

/// From the hub to the client. Ends when either side closes.
async fn relay_to_client(
    journal: &SharedJournal,
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
            LinkFrame::Text(text) => journal.take_from_hub(text),
            LinkFrame::Broken(malformed) => journal.broken_from_hub(&malformed),
        };
        if let Some(text) = text
            && to_client.send(text).await.is_err()
        {
            return RelayEnd::Client;
        }
    }
    RelayEnd::Hub
}
