//! The line link: one message per line, over any byte stream.
//!
//! Used for pipes of server processes, stdio and the hub's socket. The reader returns slices of its buffer, without
//! copying. It discards a line over the limit while it searches for the id, so that the call can fail. The writer is
//! one task with a bounded queue; messages that wait together leave in one write. It does not parse messages
//! (`envelope`).

use std::pin::Pin;

use bytes::{Buf, Bytes, BytesMut};
use bytestring::ByteString;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{
    LinkFrame, LinkReader, LinkWriter, MAX_QUEUED_BYTES, ReaderKind, WriterKind, turn::LinkTurn,
};
use crate::{
    Error,
    envelope::{EnvelopeSalvager, MalformedKind, MalformedMessage},
    queue::{self, QueueSendError},
};

/// The size of one read.
const READ_CHUNK_BYTES: usize = 64 * 1024;
/// The buffer is reused as it is while it has this much room.
const MIN_FREE_BYTES: usize = 8 * 1024;
/// A longer line gets its own buffer, which is freed with the line.
const LONG_LINE_BYTES: usize = READ_CHUNK_BYTES / 2;
/// The most messages that may wait to be written.
const MAX_QUEUED_MESSAGES: usize = 256;
/// The most bytes in one write, the last message not counted.
const WRITE_BATCH_BYTES: usize = super::turn::MAX_TURN_BYTES;

/// A line reader with a boxed source.
pub(super) type BoxedLineReader = LineReader<Pin<Box<dyn AsyncRead + Send + Sync>>>;

/// Reads messages, one per line.
pub struct LineReader<R> {
    source: R,
    buffer: BytesMut,
    /// The number of bytes in `buffer` that are known to hold no line end.
    searched: usize,
    /// The length of the last long line. A peer that sends one long line usually sends more, and a buffer of the
    /// right size spares copies while the line arrives.
    expected: usize,
    limit: usize,
    /// The salvager of a line over the limit that is being discarded.
    discarding: Option<EnvelopeSalvager>,
    ended: bool,
}

/// The state of the buffer.
enum BufferedLine {
    Frame(LinkFrame),
    /// An empty line.
    Empty,
    /// An incomplete line.
    Unfinished,
}

/// Queues messages for the writer task.
#[derive(Debug, Clone)]
pub struct LineWriter {
    queue: queue::QueueSender<ByteString>,
}

/// A line link over a reader and a writer. The returned future writes; it must be polled (usually spawned), and ends
/// when the last [`LinkWriter`] is dropped or writing fails.
pub fn line_link<R, W>(
    source: R,
    sink: W,
    limit: usize,
) -> (LinkWriter, LinkReader, impl Future<Output = ()> + Send)
where
    R: AsyncRead + Send + Sync + 'static,
    W: AsyncWrite + Send + Unpin,
{
    let bytes = |text: &ByteString| text.len();
    let (queue, waiting) = queue::byte_bounded_queue(MAX_QUEUED_MESSAGES, MAX_QUEUED_BYTES, bytes);
    let reader: BoxedLineReader = LineReader::new(Box::pin(source), limit);
    (
        LinkWriter(WriterKind::Queue(LineWriter { queue })),
        LinkReader::new(ReaderKind::Lines(Box::new(reader))),
        write_all(waiting, sink),
    )
}

// === impl LineReader ===

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// A reader of `source`; a line longer than `limit` bytes is refused.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: BytesMut::new(),
            searched: 0,
            expected: 0,
            limit,
            discarding: None,
            ended: false,
        }
    }

    /// Returns the next message; skips empty lines. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<LinkFrame>, Error> {
        loop {
            loop {
                match self.take_line() {
                    BufferedLine::Frame(frame) => return Ok(Some(frame)),
                    BufferedLine::Empty => {}
                    BufferedLine::Unfinished => break,
                }
            }
            if self.ended {
                return Ok(None);
            }
            self.make_room();
            let read = self.source.read_buf(&mut self.buffer).await;
            self.ended = match read {
                Ok(count) => count == 0,
                Err(source) => return Err(Error::io("reading from the peer", source)),
            };
        }
    }

    /// Makes room for the next read. Messages still in use share the buffer, so that more room means a new buffer.
    fn make_room(&mut self) {
        let length = self.buffer.len();
        if self.buffer.capacity() - length < MIN_FREE_BYTES {
            let missing =
                if length > LONG_LINE_BYTES { self.expected.saturating_sub(length) } else { 0 };
            self.buffer.reserve(missing + READ_CHUNK_BYTES);
        }
    }

    /// Takes a complete line out of the buffer.
    fn take_line(&mut self) -> BufferedLine {
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let Some(length) = found.map(|at| at + self.searched) else {
            return self.take_unfinished_line();
        };
        let mut line = self.buffer.split_to(length + 1);
        line.truncate(length);
        self.searched = 0;
        if length > LONG_LINE_BYTES {
            self.part_from(length);
        }
        self.finish_line(line)
    }

    /// Moves the rest of the buffer after a long line into a new buffer. The rest must be shorter than the line, so
    /// that many lines in one buffer are not copied many times.
    fn part_from(&mut self, length: usize) {
        self.expected = length.min(self.limit);
        if self.buffer.len() < length {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
    }

    /// Handles a buffer without a line end: discards a line over the limit, or takes the rest at the end of the
    /// stream.
    fn take_unfinished_line(&mut self) -> BufferedLine {
        if self.discarding.is_some() || self.buffer.len() > self.limit {
            let salvager = self.discarding.get_or_insert_default();
            salvager.feed(&self.buffer);
            self.buffer.clear();
        }
        self.searched = self.buffer.len();
        let unfinished = !self.buffer.is_empty() || self.discarding.is_some();
        if !self.ended || !unfinished {
            return BufferedLine::Unfinished;
        }
        let line = self.buffer.split();
        self.searched = 0;
        self.finish_line(line)
    }

    fn finish_line(&mut self, mut line: BytesMut) -> BufferedLine {
        if self.discarding.is_some() || line.len() > self.limit {
            let mut salvager = self.discarding.take().unwrap_or_default();
            salvager.feed(&line);
            let kind = MalformedKind::TooLarge { limit: self.limit };
            return BufferedLine::Frame(LinkFrame::Broken(salvager.finish().into_malformed(kind)));
        }
        line.truncate(line.trim_ascii_end().len());
        line.advance(line.len() - line.trim_ascii_start().len());
        if line.is_empty() || line == b"\xef\xbb\xbf".as_slice() {
            return BufferedLine::Empty;
        }
        BufferedLine::Frame(text_frame(&line.freeze()))
    }
}

/// A text frame, or a broken frame if the bytes are not UTF-8.
pub(crate) fn text_frame(line: &Bytes) -> LinkFrame {
    match ByteString::try_from(line.clone()) {
        Ok(text) => LinkFrame::Text(text),
        Err(_) => LinkFrame::Broken(not_utf8(line)),
    }
}

fn not_utf8(line: &[u8]) -> MalformedMessage {
    let mut salvager = EnvelopeSalvager::default();
    salvager.feed(line);
    salvager.finish().into_malformed(MalformedKind::NotUtf8)
}

impl<R> std::fmt::Debug for LineReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineReader").field("buffered", &self.buffer.len()).finish_non_exhaustive()
    }
}

// === impl LineWriter ===

impl LineWriter {
    /// Waits until the writer task has taken all queued messages. It writes them at once, unless the peer does not
    /// read.
    pub(super) async fn flush(&self) {
        self.queue.wait_empty().await;
    }

    pub(super) async fn send(&self, text: ByteString) -> Result<(), Error> {
        self.queue.send(text).await.map_err(|_| Error::Closed)
    }

    pub(super) fn try_send(&self, text: ByteString) -> Result<(), Error> {
        self.queue.try_send(text).map_err(|error| match error {
            QueueSendError::Full(_) => Error::Busy,
            QueueSendError::Closed(_) => Error::Closed,
        })
    }
}

async fn write_all<W: AsyncWrite + Unpin>(
    mut waiting: queue::QueueReceiver<ByteString>,
    mut sink: W,
) {
    let mut out = BytesMut::new();
    let mut turn = LinkTurn::default();
    while waiting.wait_filled().await {
        turn.wait().await;
        while out.len() < WRITE_BATCH_BYTES
            && let Some(next) = waiting.try_recv()
        {
            push_line(&mut out, &next);
        }
        let written = async {
            sink.write_all(&out).await?;
            sink.flush().await
        };
        if let Err(error) = written.await {
            // The reader notices the failure, too, and reports it to waiting callers.
            tracing::debug!(%error, "the peer takes no more messages");
            return;
        }
        turn.spend(out.len());
        out.clear();
        if out.capacity() > 4 * WRITE_BATCH_BYTES {
            out = BytesMut::new();
        }
    }
    let _ = sink.shutdown().await;
}

/// Appends one message and its line end. Line breaks inside a message can only stand between tokens, so a space
/// replaces them.
fn push_line(out: &mut BytesMut, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 1);
    let mut copied = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        out.extend_from_slice(&bytes[copied..at]);
        out.extend_from_slice(b" ");
        copied = at + 1;
    }
    out.extend_from_slice(&bytes[copied..]);
    out.extend_from_slice(b"\n");
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll},
    };

    use tokio::io::ReadBuf;

    use super::*;

    /// Reads all frames in `input`, fed in pieces of `step` bytes.
    async fn frames(input: &[u8], limit: usize, step: usize) -> Vec<String> {
        let (mut near, far) = tokio::io::duplex(64);
        let input = input.to_vec();
        let feeding = async move {
            for piece in input.chunks(step) {
                near.write_all(piece).await.unwrap();
            }
        };
        let reading = async move {
            let mut reader = LineReader::new(far, limit);
            let mut seen = Vec::new();
            while let Some(frame) = reader.next().await.unwrap() {
                seen.push(match frame {
                    LinkFrame::Text(text) => text.to_string(),
                    LinkFrame::Broken(malformed) => format!("{malformed}, id {:?}", malformed.id),
                });
            }
            seen
        };
        tokio::join!(feeding, reading).1
    }

    #[tokio::test]
    async fn lines_of_every_kind() {
        let long = format!("{{\"result\":\"{}\",\"id\":9}}", "x".repeat(200));
        let input = [
            b"{\"a\":1}\r\n".as_slice(),
            b"\n  \n\xef\xbb\xbf\n",
            long.as_bytes(),
            b"\n{\"id\":3,\"method\":\"\xff\"}\n",
            b"after\n",
            b"unfinished",
        ]
        .concat();
        for step in [1, 3, 7, 64, 1000] {
            assert_eq!(
                frames(&input, 100, step).await,
                [
                    "{\"a\":1}",
                    "the message is larger than 100 bytes, id Some(9)",
                    "the message is not UTF-8, id Some(3)",
                    "after",
                    "unfinished",
                ],
                "fed {step} bytes at a time"
            );
        }
    }

    #[tokio::test]
    async fn a_hundred_mebibyte_line_is_one_error_and_little_memory() {
        let (mut near, far) = tokio::io::duplex(READ_CHUNK_BYTES);
        let feeding = async move {
            near.write_all(b"{\"jsonrpc\":\"2.0\",\"result\":\"").await.unwrap();
            let piece = vec![b'x'; 1 << 20];
            for _ in 0..100 {
                near.write_all(&piece).await.unwrap();
            }
            near.write_all(b"\",\"id\":42}\n{\"next\":1}\n").await.unwrap();
        };
        let reading = async move {
            let mut reader = LineReader::new(far, 16 << 20);
            let Some(LinkFrame::Broken(malformed)) = reader.next().await.unwrap() else { panic!() };
            assert_eq!(malformed.id.unwrap().as_u64(), Some(42));
            assert!(reader.buffer.capacity() <= 40 << 20);
            assert!(
                matches!(reader.next().await, Ok(Some(LinkFrame::Text(text))) if text == "{\"next\":1}")
            );
        };
        tokio::join!(feeding, reading);
    }

    /// A source that returns as much at once as a pipe holds, and counts how often it gets another buffer than the
    /// one it left: each time, lines are copied.
    struct Watched<'a> {
        left: &'a [u8],
        /// The start and length of the remaining buffer.
        room: (usize, usize),
        moves: Arc<AtomicUsize>,
    }

    impl AsyncRead for Watched<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let room = into.initialize_unfilled();
            let (place, size) = (room.as_ptr().addr(), room.len());
            if self.room != (place, size) {
                self.moves.fetch_add(1, Ordering::Relaxed);
            }
            let (now, later) =
                self.left.split_at(READ_CHUNK_BYTES.min(into.remaining()).min(self.left.len()));
            into.put_slice(now);
            self.room = (place + now.len(), size - now.len());
            self.left = later;
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn long_lines_are_copied_once_and_not_held_on_to() {
        let line = format!("\"{}\"", "x".repeat(1 << 20));
        let input = format!("{line}\n{line}\n{line}\n{{}}\n");
        let moves = Arc::new(AtomicUsize::new(0));
        let source = Watched { left: input.as_bytes(), room: (0, 0), moves: Arc::clone(&moves) };
        let mut reader = LineReader::new(source, 16 << 20);
        let mut held = Vec::new();
        for number in 0..3 {
            let Ok(Some(LinkFrame::Text(text))) = reader.next().await else { panic!() };
            assert_eq!(text, line.as_str());
            assert!(
                reader.buffer.capacity() <= 2 * READ_CHUNK_BYTES,
                "{}",
                reader.buffer.capacity()
            );
            let moves = moves.swap(0, Ordering::Relaxed);
            // The line starts in a small buffer and moves once to one that is large enough.
            assert!(number == 0 || moves <= 2, "line {number} moved {moves} times");
            held.push(text);
        }
        let Ok(Some(LinkFrame::Text(text))) = reader.next().await else { panic!() };
        assert_eq!(text, "{}");
        assert!(reader.next().await.unwrap().is_none());
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        let mut out = BytesMut::new();
        push_line(&mut out, "{\r\n  \"a\": 1\n}");
        assert_eq!(&out[..], b"{    \"a\": 1 }\n");
    }
}
