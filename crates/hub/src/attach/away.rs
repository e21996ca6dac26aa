//! Between two hubs.

use std::time::Duration;

use bytestring::ByteString;
use switchboard_wire::{
    Error as WireError,
    envelope::{Message, Notification, Outcome, Parsed, Response, parse},
    json::Raw,
    link::{Frame, LinkReader, LinkWriter},
    meta::method,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    AttachOptions, Error,
    book::{Comeback, SharedBook},
    client::Client,
    reach::{Reached, reach},
};

/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// So many hubs lost one right after another are enough.
const SHORT_LIVED: u32 = 8;

/// Lists whose changes a client may have missed, and the capability that says whether it is told of them.
const LISTS: [(&str, &str); 3] = [
    ("tools", method::TOOLS_CHANGED),
    ("prompts", method::PROMPTS_CHANGED),
    ("resources", method::RESOURCES_CHANGED),
];

/// Whether requests still wait for a hub.
enum Patience {
    /// Nothing waits.
    Fresh,
    /// One does, until then.
    Until(Instant),
    /// One did, in vain: the next ones are refused at once.
    Over,
}

/// Finds a hub for a client that has lost one; `None` if the client goes meanwhile. One message is read ahead, no
/// more: what the client sends waits in its own pipe.
pub(super) async fn away(
    options: &AttachOptions,
    book: &SharedBook,
    client: &mut Client,
    comeback: Comeback,
    short_lived: u32,
) -> Result<Option<Reached>, Error> {
    if short_lived > SHORT_LIVED {
        return Err(Error::Unsteady { times: short_lived });
    }
    if comeback == Comeback::WhenNeeded && need(book, client).await == Need::Never {
        return Ok(None);
    }
    let to_client = client.writer.clone();
    let returning = come_back(options, book, &to_client, short_lived);
    tokio::pin!(returning);
    let mut patience = Patience::Fresh;
    loop {
        if let (Patience::Fresh, true) = (&patience, client.incoming.is_waiting()) {
            patience = Patience::Until(Instant::now() + options.timing.hold);
        }
        let deadline = match patience {
            Patience::Until(deadline) => Some(deadline),
            Patience::Fresh | Patience::Over => None,
        };
        tokio::select! {
            hub = &mut returning => return hub.map(Some),
            () = client.incoming.look(), if !client.incoming.is_waiting() => {
                if client.is_gone() {
                    return Ok(None);
                }
            }
            () = until(deadline), if deadline.is_some() => patience = Patience::Over,
        }
        if let Patience::Over = patience {
            refuse(book, client).await;
        }
    }
}

/// Whether the client needs a hub again.
#[derive(PartialEq, Eq)]
enum Need {
    Now,
    Never,
}

/// Waits until the client asks for something. What it merely mentions is noted.
async fn need(book: &SharedBook, client: &mut Client) -> Need {
    loop {
        client.incoming.look().await;
        if client.is_gone() {
            return Need::Never;
        }
        if client.incoming.is_request() {
            return Need::Now;
        }
        refuse(book, client).await;
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Answers what was read ahead, which no hub will, or notes it where it needs no answer.
async fn refuse(book: &SharedBook, client: &mut Client) {
    let answer = match client.incoming.take() {
        Some(Frame::Text(text)) => book.lock().refuse(text),
        Some(Frame::Broken(malformed)) => {
            let error = malformed.to_rpc_error();
            Some(Response::error(malformed.id.as_ref(), &error).text().clone())
        }
        None => None,
    };
    if let Some(answer) = answer {
        client.tell(answer).await;
    }
}

/// Tries until a hub has taken the session up, or the time is over.
async fn come_back(
    options: &AttachOptions,
    book: &SharedBook,
    to_client: &LinkWriter,
    short_lived: u32,
) -> Result<Reached, Error> {
    let deadline = Instant::now() + options.timing.comeback;
    let first = options.timing.pause;
    let mut pause = LONGEST_PAUSE.min(first.saturating_mul(1 << short_lived.min(16)));
    if short_lived > 1 {
        sleep(pause).await;
    }
    loop {
        let error = match take_up(options, book, to_client).await {
            Ok(hub) => return Ok(hub),
            Err(error) => error,
        };
        if !error.may_pass() || Instant::now() + pause > deadline {
            return Err(error);
        }
        tracing::warn!(%error, "no hub yet");
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}

/// Finds a hub and tells it what the client told the last one.
async fn take_up(
    options: &AttachOptions,
    book: &SharedBook,
    to_client: &LinkWriter,
) -> Result<Reached, Error> {
    let mut hub = reach(options).await?;
    let greeting = greet_again(book, &hub.writer, &mut hub.reader, to_client);
    let greeted = tokio::select! {
        greeted = timeout(options.timing.answer, greeting) => matches!(greeted, Ok(Ok(()))),
        () = &mut hub.writing => false,
    };
    if greeted {
        return Ok(hub);
    }
    book.lock().forget_ours();
    Err(Error::LostAgain)
}

/// The handshake again, and word to the client of what it may have missed.
async fn greet_again(
    book: &SharedBook,
    to_hub: &LinkWriter,
    from_hub: &mut LinkReader,
    to_client: &LinkWriter,
) -> Result<(), WireError> {
    let was_greeted = !book.lock().is_client_greeting();
    let Some(greeting) = book.lock().greet_again() else {
        return Ok(());
    };
    to_hub.send(greeting).await?;
    let answer = loop {
        let Some(frame) = from_hub.next().await? else {
            return Err(WireError::Closed);
        };
        let Frame::Text(text) = frame else {
            continue;
        };
        if let Some(text) = book.hub_says(text.clone()) {
            to_client.send(text).await?;
        }
        if !book.lock().is_greeting() {
            break text;
        }
    };
    let following = book.lock().settle_again();
    for text in following {
        to_hub.send(text).await?;
    }
    if was_greeted {
        for text in missed(&answer) {
            to_client.send(text).await?;
        }
    }
    Ok(())
}

/// What may have changed while nobody was there to say so: each list that the hub promises to speak of.
fn missed(answer: &ByteString) -> Vec<ByteString> {
    let Ok(Parsed::One(Message::Response(answer))) = parse(answer.clone()) else {
        return Vec::new();
    };
    let Outcome::Result(result) = answer.outcome() else {
        return Vec::new();
    };
    let promised = |list: &str| {
        let said = result.get_path(&["capabilities", list, "listChanged"]);
        matches!(said, Ok(Some(said)) if said.as_str() == "true")
    };
    let lists = LISTS.iter().filter(|(list, _)| promised(list));
    lists.map(|(_, changed)| changed_text(changed)).collect()
}

fn changed_text(changed: &str) -> ByteString {
    Notification::new(changed, Some(&Raw::empty_object())).text().clone()
}
