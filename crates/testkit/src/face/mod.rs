//! Faces of the [`Fixture`](crate::fixture::Fixture) on sockets, for tests only.
//!
//! Used by the client tests of `wire`. Each face bridges to server sessions over linked pairs and
//! is minimal: it checks no caller and bounds no data. The real faces are in `gateway`.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)] // a face that cannot start fails its test

mod sse;
mod streamable;
mod ws;

use switchboard_wire::link::{LinkFrame, LinkReader};
use tokio::sync::mpsc;

pub use sse::SseFace;
pub use streamable::StreamableFace;
pub use ws::web_socket;

/// The sender of a reply that is still being written.
type Feed = mpsc::UnboundedSender<Vec<u8>>;

/// Returns the next text; `None` at the end.
async fn next_text(reader: &mut LinkReader) -> Option<String> {
    match reader.next().await {
        Ok(Some(LinkFrame::Text(text))) => Some(text.to_string()),
        _ => None,
    }
}

fn event(text: &str) -> Vec<u8> {
    format!("event: message\ndata: {}\n\n", data(text)).into_bytes()
}

/// Formats a text as `data:` lines.
fn data(text: &str) -> String {
    text.replace('\n', "\ndata: ")
}
