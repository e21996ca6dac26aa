//! `connect`: attaches a client's standard streams to the hub.
//!
//! [`attach`] finds the hub or starts one (a race of many clients starts one), sends
//! [`ClientHello`](crate::socket::ClientHello), and then passes messages on unchanged. It outlives the hub: when the
//! hub ends, running calls are answered with an error that says so, a hub is found or started again, the client's
//! handshake is repeated there, and the client's session continues.
//!
//! A call is never sent twice. Only messages of the session are repeated: `initialize`, the log level, subscriptions.
//! Modern clients carry all of that in each request, so nothing is repeated for them.
//!
//! Used by the commands `connect`, `ui`, `status` and `stop`, and by [`crate::admin::client`] for the hello. It does
//! not interpret messages beyond that, and does not know views.

#![cfg(unix)]

mod client;
mod connect;
mod error;
mod handshake;
mod hello_stream;
mod journal;
mod options;
mod questions;
mod reconnect;
mod relay;
mod requests;
mod start;

use std::time::Duration;

use switchboard_core::connection::PARENT_MARKER_VARIABLE;
use switchboard_wire::{link::pair::LinkEnd, server::stdio};
use tokio::time::{Instant, timeout};

pub use error::HubAttachError;
pub(crate) use hello_stream::connect_with_hello;
pub use options::{AttachOptions, AttachTiming, HubLaunchOptions};
pub use requests::{request_handover, request_status, request_stop};

use client::ClientLink;
use connect::connect_or_start;
pub use connect::ensure_running;
use journal::SharedJournal;
use reconnect::reconnect;
use relay::{RelayEnd, relay};

/// How long the last messages may take to be written after the session has ended.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Attaches this process's standard streams; ends when the client closes them.
pub async fn attach_stdio(options: AttachOptions) -> Result<(), HubAttachError> {
    let (writer, reader, writing) = stdio::stdio_link(options.message_limit);
    tokio::pin!(writing);
    let attached = {
        let attaching = attach(options, (writer, reader));
        tokio::pin!(attaching);
        tokio::select! {
            // Polled first, so that a message is written in the turn in which it was passed on.
            biased;
            attached = &mut attaching => attached,
            // Standard output is closed; the end of standard input will follow.
            () = &mut writing => return attaching.await,
        }
    };
    // A client that does not read must not keep this process alive.
    let _ = timeout(FINAL_WRITE_TIMEOUT, writing).await;
    attached
}

/// Attaches a client; returns when the client closes its end.
pub async fn attach(options: AttachOptions, client: LinkEnd) -> Result<(), HubAttachError> {
    if options.env.contains_key(PARENT_MARKER_VARIABLE) {
        return Err(HubAttachError::Loop);
    }
    let mut client = ClientLink::new(client);
    let journal = SharedJournal::default();
    let mut hub = connect_or_start(&options).await?;
    if hub.version != options.version {
        replace_older_hub(&options).await;
    }
    let mut short_lived = 0;
    loop {
        let since = Instant::now();
        let left = relay(&options, &journal, &mut client, hub).await;
        let leaving = journal.lock().hub_lost();
        for text in leaving.messages {
            client.send(text).await;
        }
        if left == RelayEnd::Client {
            return Ok(());
        }
        tracing::info!("the hub is gone; looking for another");
        short_lived = if since.elapsed() > options.timing.steady { 0 } else { short_lived + 1 };
        match reconnect(&options, &journal, &mut client, leaving.comeback, short_lived).await? {
            Some(next) => hub = next,
            None => return Ok(()),
        }
    }
}

/// Asks a hub of another version to hand over. The hub decides whether it is older; until it ends, or if it stays, it
/// serves this client. Asked once: the next hub is the installed version anyway.
async fn replace_older_hub(options: &AttachOptions) {
    if let Err(error) = request_handover(&options.place, &options.version).await {
        tracing::debug!(%error, "the hub stays");
    }
}
