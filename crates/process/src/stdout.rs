//! A child's standard output: a pipe that is widened for a child that keeps filling it.
//!
//! Used by `wire::client::connect`. Whenever a full pipe is emptied, its writer and then its reader have to
//! wake: sixteen times for a megabyte. Most children never fill their pipe, and a user's pipes have a total
//! limit, so only pipes that were often full are widened.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    net::unix::pipe,
};

/// The capacity of a new pipe.
const DEFAULT_PIPE_BYTES: usize = 64 * 1024;
/// The capacity of a wide pipe: the largest that an unprivileged process may request.
#[cfg(target_os = "linux")]
const WIDE_PIPE_BYTES: i32 = 1024 * 1024;
/// After this many full reads, a pipe is widened.
const FULL_READS_TO_WIDEN: u8 = 16;

/// The standard output of a long-running child.
#[derive(Debug)]
pub struct StdoutPipe {
    pipe: pipe::Receiver,
    /// The number of full reads.
    full: u8,
}

// === impl StdoutPipe ===

impl StdoutPipe {
    /// Wraps the pipe that [`crate::spawn`] returns.
    pub fn new(pipe: pipe::Receiver) -> Self {
        Self { pipe, full: 0 }
    }

    /// Counts a read, and widens the pipe after enough full ones.
    fn count_read(&mut self, count: usize) {
        if count >= DEFAULT_PIPE_BYTES && self.full < FULL_READS_TO_WIDEN {
            self.full += 1;
            if self.full == FULL_READS_TO_WIDEN {
                self.widen();
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn widen(&self) {
        use nix::fcntl::{FcntlArg, fcntl};
        if let Err(error) = fcntl(&self.pipe, FcntlArg::F_SETPIPE_SZ(WIDE_PIPE_BYTES)) {
            tracing::debug!(%error, "a pipe stays as wide as it is");
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "other systems widen pipes by themselves")]
    fn widen(&self) {}
}

impl AsyncRead for StdoutPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, into))?;
        self.count_read(into.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write as _;

    use nix::fcntl::{FcntlArg, fcntl};
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn only_a_pipe_that_is_often_full_becomes_wide() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut stdout = StdoutPipe::new(pipe::Receiver::from_owned_fd(reader.into()).unwrap());
        let mut buffer = vec![0; DEFAULT_PIPE_BYTES];
        for (length, times, expected) in [
            (DEFAULT_PIPE_BYTES - 1, 100, DEFAULT_PIPE_BYTES),
            (DEFAULT_PIPE_BYTES, usize::from(FULL_READS_TO_WIDEN) - 1, DEFAULT_PIPE_BYTES),
            (1, 1, DEFAULT_PIPE_BYTES),
            (DEFAULT_PIPE_BYTES, 1, usize::try_from(WIDE_PIPE_BYTES).unwrap()),
        ] {
            for _ in 0..times {
                writer.write_all(&vec![b'x'; length]).unwrap();
                assert_eq!(stdout.read(&mut buffer).await.unwrap(), length);
            }
            let holds = fcntl(&stdout.pipe, FcntlArg::F_GETPIPE_SZ).unwrap();
            assert_eq!(usize::try_from(holds).unwrap(), expected, "{times} of {length}");
        }
    }
}
