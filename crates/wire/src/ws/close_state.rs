//! How the two halves of a connection agree to end it.

use std::sync::{Arc, OnceLock};

use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_util::sync::CancellationToken;

/// Shared by reader, writers and the task. Whoever wants to end first says with which close frame.
#[derive(Clone, Default)]
pub(super) struct CloseState {
    /// We want to end: no more messages are taken, the close frame goes out.
    wanted: CancellationToken,
    /// The reader has come to the end of the connection, or is gone.
    read_to_end: CancellationToken,
    /// The writing task is gone.
    written: CancellationToken,
    frame: Arc<OnceLock<CloseFrame>>,
}

impl CloseState {
    /// Ends the connection with `frame`, unless it is ending already.
    pub(super) fn request_close(&self, frame: CloseFrame) {
        // The first reason given stays; the loser of a race has nothing to add.
        let _ = self.frame.set(frame);
        self.wanted.cancel();
    }

    pub(super) fn is_close_requested(&self) -> bool {
        self.wanted.is_cancelled()
    }

    pub(super) async fn wait_close_requested(&self) {
        self.wanted.cancelled().await;
    }

    pub(super) fn frame(&self) -> CloseFrame {
        self.frame.get().cloned().unwrap_or_else(normal_close)
    }

    pub(super) fn set_read_to_end(&self) {
        self.read_to_end.cancel();
    }

    pub(super) async fn wait_read_to_end(&self) {
        self.read_to_end.cancelled().await;
    }

    pub(super) fn set_written(&self) {
        self.written.cancel();
    }

    pub(super) async fn wait_written(&self) {
        self.written.cancelled().await;
    }
}

/// Close code 1000.
pub(super) fn normal_close() -> CloseFrame {
    close_frame(1000, "")
}

/// A close frame with words of our own.
pub(super) fn close_frame(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code: code.into(), reason: reason.into() }
}
