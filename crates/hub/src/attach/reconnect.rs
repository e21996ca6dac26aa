//! Reconnects a client that has lost its hub: retries, repeats the handshake, answers requests meanwhile.
//!
//! Used by `attach` between two hubs. It gives up after 8 short-lived hubs in a row or when `AttachTiming::comeback` is
//! over. It does not repeat calls.

use std::time::Duration;

use bytestring::ByteString;
use switchboard_wire::{
    Error as WireError,
    envelope::{MessageOrBatch, Notification, Response, ResponseOutcome, RpcMessage, parse},
    json::Raw,
    link::{LinkFrame, LinkReader, LinkWriter},
    meta::method,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    AttachOptions, HubAttachError,
    client::ClientLink,
    connect::{HubLink, connect_or_start},
    journal::{ReconnectTrigger, SharedJournal},
};

/// The longest pause between attempts.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(5);
/// The number of short-lived hubs in a row after which the client gives up.
const MAX_SHORT_LIVED_HUBS: u32 = 8;

/// Lists that may have changed unnoticed: the capability that promises notifications, and the notification.
const LIST_CHANGES: [(&str, &str); 3] = [
    ("tools", method::TOOLS_CHANGED),
    ("prompts", method::PROMPTS_CHANGED),
    ("resources", method::RESOURCES_CHANGED),
];

/// Whether requests still wait for a hub.
enum HoldState {
    /// No request waits.
    Fresh,
    /// A request waits, until this deadline.
    Until(Instant),
    /// A request waited in vain: further requests are refused at once.
    Over,
}

/// Finds a hub for a client that has lost one; `None` if the client closes meanwhile. At most one message is read
/// ahead: the others wait in the client's pipe.
pub(super) async fn reconnect(
    options: &AttachOptions,
    journal: &SharedJournal,
    client: &mut ClientLink,
    comeback: ReconnectTrigger,
    short_lived: u32,
) -> Result<Option<HubLink>, HubAttachError> {
    if short_lived > MAX_SHORT_LIVED_HUBS {
        return Err(HubAttachError::Unsteady { times: short_lived });
    }
    if comeback == ReconnectTrigger::WhenNeeded
        && wait_for_need(journal, client).await == HubNeed::Never
    {
        return Ok(None);
    }
    let to_client = client.writer.clone();
    let returning = retry_until_resumed(options, journal, &to_client, short_lived);
    tokio::pin!(returning);
    let mut patience = HoldState::Fresh;
    loop {
        if let (HoldState::Fresh, true) = (&patience, client.incoming.is_waiting()) {
            patience = HoldState::Until(Instant::now() + options.timing.hold);
        }
        let deadline = match patience {
            HoldState::Until(deadline) => Some(deadline),
            HoldState::Fresh | HoldState::Over => None,
        };
        tokio::select! {
            hub = &mut returning => return hub.map(Some),
            () = client.incoming.peek(), if !client.incoming.is_waiting() => {
                if client.is_gone() {
                    return Ok(None);
                }
            }
            () = sleep_until_or_forever(deadline), if deadline.is_some() => patience = HoldState::Over,
        }
        if let HoldState::Over = patience {
            refuse_waiting(journal, client).await;
        }
    }
}

/// Whether the client needs a hub again.
#[derive(PartialEq, Eq)]
enum HubNeed {
    Now,
    Never,
}

/// Waits until the client sends a request. Notifications are noted in the journal.
async fn wait_for_need(journal: &SharedJournal, client: &mut ClientLink) -> HubNeed {
    loop {
        client.incoming.peek().await;
        if client.is_gone() {
            return HubNeed::Never;
        }
        if client.incoming.is_request() {
            return HubNeed::Now;
        }
        refuse_waiting(journal, client).await;
    }
}

async fn sleep_until_or_forever(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Answers the request that was read ahead with an error, or notes a notification.
async fn refuse_waiting(journal: &SharedJournal, client: &mut ClientLink) {
    let answer = match client.incoming.take() {
        Some(LinkFrame::Text(text)) => journal.lock().refuse(text),
        Some(LinkFrame::Broken(malformed)) => {
            let error = malformed.to_rpc_error();
            Some(Response::error(malformed.id.as_ref(), &error).text().clone())
        }
        None => None,
    };
    if let Some(answer) = answer {
        client.send(answer).await;
    }
}

/// Retries until a hub has resumed the session, or `AttachTiming::comeback` is over.
async fn retry_until_resumed(
    options: &AttachOptions,
    journal: &SharedJournal,
    to_client: &LinkWriter,
    short_lived: u32,
) -> Result<HubLink, HubAttachError> {
    let deadline = Instant::now() + options.timing.comeback;
    let first = options.timing.pause;
    let mut pause = MAX_RECONNECT_DELAY.min(first.saturating_mul(1 << short_lived.min(16)));
    if short_lived > 1 {
        sleep(pause).await;
    }
    loop {
        let error = match resume_session(options, journal, to_client).await {
            Ok(hub) => return Ok(hub),
            Err(error) => error,
        };
        if !error.is_transient() || Instant::now() + pause > deadline {
            return Err(error);
        }
        tracing::warn!(%error, "no hub yet");
        sleep(pause).await;
        pause = MAX_RECONNECT_DELAY.min(pause * 2);
    }
}

/// Finds a hub and repeats the client's handshake there.
async fn resume_session(
    options: &AttachOptions,
    journal: &SharedJournal,
    to_client: &LinkWriter,
) -> Result<HubLink, HubAttachError> {
    let mut hub = connect_or_start(options).await?;
    let greeting = repeat_handshake(journal, &hub.writer, &mut hub.reader, to_client);
    let greeted = tokio::select! {
        greeted = timeout(options.timing.answer, greeting) => matches!(greeted, Ok(Ok(()))),
        () = &mut hub.writing => false,
    };
    if greeted {
        return Ok(hub);
    }
    journal.lock().forget_own_requests();
    Err(HubAttachError::LostAgain)
}

/// Repeats the handshake, and tells the client which lists may have changed.
async fn repeat_handshake(
    journal: &SharedJournal,
    to_hub: &LinkWriter,
    from_hub: &mut LinkReader,
    to_client: &LinkWriter,
) -> Result<(), WireError> {
    let was_greeted = !journal.lock().is_client_greeting();
    let Some(greeting) = journal.lock().repeat_initialize() else {
        return Ok(());
    };
    to_hub.send(greeting).await?;
    let answer = loop {
        let Some(frame) = from_hub.next().await? else {
            return Err(WireError::Closed);
        };
        let LinkFrame::Text(text) = frame else {
            continue;
        };
        if let Some(text) = journal.take_from_hub(text.clone()) {
            to_client.send(text).await?;
        }
        if !journal.lock().is_greeting() {
            break text;
        }
    };
    let following = journal.lock().replay_after_initialize();
    for text in following {
        to_hub.send(text).await?;
    }
    if was_greeted {
        for text in missed_notifications(&answer) {
            to_client.send(text).await?;
        }
    }
    Ok(())
}

/// `list_changed` notifications for each list that the hub promises to announce: a change may have been missed.
fn missed_notifications(answer: &ByteString) -> Vec<ByteString> {
    let Ok(MessageOrBatch::One(RpcMessage::Response(answer))) = parse(answer.clone()) else {
        return Vec::new();
    };
    let ResponseOutcome::Result(result) = answer.outcome() else {
        return Vec::new();
    };
    let promised = |list: &str| {
        let said = result.get_path(&["capabilities", list, "listChanged"]);
        matches!(said, Ok(Some(said)) if said.as_str() == "true")
    };
    let lists = LIST_CHANGES.iter().filter(|(list, _)| promised(list));
    lists.map(|(_, changed)| changed_text(changed)).collect()
}

fn changed_text(changed: &str) -> ByteString {
    Notification::new(changed, Some(&Raw::empty_object())).text().clone()
}
