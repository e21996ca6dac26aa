//! Faces of the [`Fixture`](crate::fixture::Fixture) on sockets, for tests only.
//!
//! Each bridges to server sessions over linked pairs and is as small as that allows: nothing here
//! checks who asks or bounds what is kept.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)] // a face that cannot start fails its test

mod sse;
mod streamable;
mod ws;

use switchboard_wire::link::{LinkFrame, LinkReader};
use tokio::sync::mpsc;

pub use sse::SseFace;
pub use streamable::StreamableFace;
pub use ws::web_socket;

/// The sending side of a reply that is still being written.
type Feed = mpsc::UnboundedSender<Vec<u8>>;

/// The next text; `None` at the end.
async fn next_text(reader: &mut LinkReader) -> Option<String> {
    match reader.next().await {
        Ok(Some(LinkFrame::Text(text))) => Some(text.to_string()),
        _ => None,
    }
}

fn event(text: &str) -> Vec<u8> {
    format!("event: message\ndata: {}\n\n", data(text)).into_bytes()
}

/// A text of several lines is data of several lines.
fn data(text: &str) -> String {
    text.replace('\n', "\ndata: ")
}
