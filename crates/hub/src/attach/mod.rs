//! `connect`: a client's standard streams, attached to the hub.
//!
//! [`attach`] finds the hub, or starts one (whatever the race, one), says [`ClientHello`](crate::socket::ClientHello), and then
//! passes messages on as they are. It outlives the hub: when the hub goes, calls in flight are answered with an error
//! that says so, a hub is found or started again, the client's handshake is repeated there, and the client goes on as
//! if nothing had been.
//!
//! A call is never sent twice. What is repeated is what only has to do with the session: `initialize`, the log level,
//! subscriptions. Modern clients say everything with each request and need none of it.
//!
//! This module refuses to know what messages mean beyond that, and what a view is.

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

/// How long what is left to say may take to be written once all is over.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Attaches this process's standard streams; ends when the client closes them.
pub async fn attach_stdio(options: AttachOptions) -> Result<(), HubAttachError> {
    let (writer, reader, writing) = stdio::stdio_link(options.message_limit);
    tokio::pin!(writing);
    let attached = {
        let attaching = attach(options, (writer, reader));
        tokio::pin!(attaching);
        tokio::select! {
            // What is passed on is then written in the same turn.
            biased;
            attached = &mut attaching => attached,
            // Standard output is closed, which the client's end of standard input tells too.
            () = &mut writing => return attaching.await,
        }
    };
    // A client that does not read does not keep us.
    let _ = timeout(FINAL_WRITE_TIMEOUT, writing).await;
    attached
}

/// Attaches a client; ends when it closes its end.
pub async fn attach(options: AttachOptions, client: LinkEnd) -> Result<(), HubAttachError> {
    if options.env.contains_key(PARENT_MARKER_VARIABLE) {
        return Err(HubAttachError::Loop);
    }
    let mut client = ClientLink::new(client);
    let book = SharedJournal::default();
    let mut hub = connect_or_start(&options).await?;
    if hub.version != options.version {
        replace_older_hub(&options).await;
    }
    let mut short_lived = 0;
    loop {
        let since = Instant::now();
        let left = relay(&options, &book, &mut client, hub).await;
        let leaving = book.lock().hub_lost();
        for text in leaving.messages {
            client.send(text).await;
        }
        if left == RelayEnd::Client {
            return Ok(());
        }
        tracing::info!("the hub is gone; looking for another");
        short_lived = if since.elapsed() > options.timing.steady { 0 } else { short_lived + 1 };
        match reconnect(&options, &book, &mut client, leaving.comeback, short_lived).await? {
            Some(next) => hub = next,
            None => return Ok(()),
        }
    }
}

/// Has a hub of another version end when it can, if it is older than us, which is for the hub to judge. Until then, or
/// if it stays, it serves us as it is. Asked once: whatever hub comes next is what is installed now.
async fn replace_older_hub(options: &AttachOptions) {
    if let Err(error) = request_handover(&options.place, &options.version).await {
        tracing::debug!(%error, "the hub stays");
    }
}
