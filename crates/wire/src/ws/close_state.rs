//! The closing handshake of a WebSocket, shared by its reader and its writers.
//!
//! Used by `reader` and `writer`. It sends no frames (`writer`).

use std::sync::{Arc, OnceLock};

use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_util::sync::CancellationToken;

/// State shared by the reader, the writers and the writer task. The first to close chooses the
/// close frame.
#[derive(Clone, Default)]
pub(super) struct CloseState {
    /// This side wants to close: no more messages are accepted, and the close frame is sent.
    wanted: CancellationToken,
    /// The reader has reached the end of the connection, or was dropped.
    read_to_end: CancellationToken,
    /// The writer task has ended.
    written: CancellationToken,
    frame: Arc<OnceLock<CloseFrame>>,
}

impl CloseState {
    /// Closes the connection with `frame`, unless it is closing already.
    pub(super) fn request_close(&self, frame: CloseFrame) {
        // The first reason stays.
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

/// A close frame with a static reason.
pub(super) fn close_frame(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code: code.into(), reason: reason.into() }
}
