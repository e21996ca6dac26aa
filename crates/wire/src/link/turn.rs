//! The turn of a link: how many bytes it reads or writes before other tasks of its thread run.
//!
//! Used by `LinkReader` and by the writer of lines. Tokio's cooperative budget counts operations, 128 for each poll of a
//! task, and not bytes: 128 messages of 16 MiB are as good to it as 128 pings. So a turn ends with that budget or after
//! [`MAX_TURN_BYTES`], whichever comes first. It does not count operations (`consume_budget` does).

use tokio::task::yield_now;

/// The most bytes of one turn, the last message not counted. Parsing them takes some hundred microseconds.
pub(super) const MAX_TURN_BYTES: usize = 256 * 1024;

/// The bytes of the current turn.
#[derive(Debug, Default)]
pub(super) struct LinkTurn {
    bytes: usize,
}

// === impl LinkTurn ===

impl LinkTurn {
    /// Lets other tasks run if the turn is over. Cancel-safe.
    pub(super) async fn wait(&mut self) {
        if self.bytes >= MAX_TURN_BYTES {
            self.bytes = 0;
            yield_now().await;
        }
    }

    /// Counts the bytes of a message or a write.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
