//! A child's standard error: read without pause so that the child never blocks on it; the tail is kept in
//! memory, and a sink gets every byte.
//!
//! Used by `launch` and by crates that implement [`StderrSink`] for their logs. It does not interpret the
//! bytes.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::unix::pipe;

/// How much of a child's standard error is kept in memory.
const MAX_TAIL_BYTES: usize = 64 * 1024;
/// The largest read; on the stack, so that a quiet child costs no buffer.
const READ_CHUNK_BYTES: usize = 16 * 1024;
/// Reads in one go while the child runs, before other work of the task gets a turn.
const MAX_READS_PER_PUMP: usize = 4;
/// Reads in one go after the child's end: as much as the largest unprivileged pipe can hold.
const MAX_READS_AT_EXIT: usize = 1024 * 1024 / READ_CHUNK_BYTES;

/// Receives a child's standard error in chunks, which may split lines.
pub trait StderrSink: Send + Sync {
    /// Takes a chunk. Called from the task that reads, so it must not block.
    fn write(&self, chunk: &[u8]);
}

/// Takes out of a text what nobody may see.
pub type StderrRedaction = dyn Fn(&str) -> String + Send + Sync;

/// Options for a child's standard error, beside the tail that is always kept.
#[derive(Clone, Default)]
pub struct StderrOptions {
    /// The sink for every byte.
    pub sink: Option<Arc<dyn StderrSink>>,
    /// The redaction of the tail, which stands in errors.
    pub redaction: Option<Arc<StderrRedaction>>,
}

/// The last bytes of a stream.
#[derive(Default)]
pub(super) struct StderrTail {
    bytes: VecDeque<u8>,
    cut: bool,
    redaction: Option<Arc<StderrRedaction>>,
}

/// The reading side.
pub(super) struct StderrReader {
    pipe: Option<pipe::Receiver>,
    tail: Arc<Mutex<StderrTail>>,
    sink: Option<Arc<dyn StderrSink>>,
}

// === impl StderrOptions ===

impl fmt::Debug for StderrOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StderrOptions");
        shown.field("sink", &self.sink.is_some()).field("redaction", &self.redaction.is_some());
        shown.finish()
    }
}

// === impl StderrTail ===

impl StderrTail {
    fn push(&mut self, chunk: &[u8]) {
        let surplus = (self.bytes.len() + chunk.len()).saturating_sub(MAX_TAIL_BYTES);
        let old = surplus.min(self.bytes.len());
        self.bytes.drain(..old);
        self.bytes.extend(&chunk[surplus - old..]);
        self.cut |= surplus > 0;
    }

    /// The tail as redacted text. Characters that the cut at the front or the end of the last read splits are
    /// left out; bytes that are not UTF-8 are replaced.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let split = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        let bytes = &bytes[if self.cut { split } else { 0 }..];
        let text = String::from_utf8_lossy(&bytes[..bytes.len() - unfinished_char_len(bytes)]);
        self.redaction.as_ref().map_or_else(|| text.to_string(), |redact| redact(&text))
    }
}

/// The length of an incomplete character at the end.
fn unfinished_char_len(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    match std::str::from_utf8(last) {
        Err(error) if error.error_len().is_none() => last.len(),
        _ => 0,
    }
}

// === impl StderrReader ===

impl StderrReader {
    pub(super) fn new(pipe: pipe::Receiver, options: StderrOptions) -> Self {
        let tail = StderrTail { redaction: options.redaction, ..StderrTail::default() };
        Self { pipe: Some(pipe), tail: Arc::new(Mutex::new(tail)), sink: options.sink }
    }

    pub(super) fn tail(&self) -> Arc<Mutex<StderrTail>> {
        Arc::clone(&self.tail)
    }

    /// Waits for bytes and reads some; never returns once the stream has ended. Cancel-safe.
    pub(super) async fn pump(&mut self) {
        match &self.pipe {
            Some(pipe) if pipe.readable().await.is_ok() => {}
            _ => std::future::pending().await,
        }
        self.take(MAX_READS_PER_PUMP, pipe::Receiver::try_read);
        // A child that floods must not block the runtime's thread.
        tokio::task::coop::consume_budget().await;
    }

    /// Reads the bytes that are in the pipe. All output of a process is in the pipe once it has ended, but
    /// the runtime may not know yet, so this asks the operating system.
    pub(super) fn drain(&mut self) {
        self.take(MAX_READS_AT_EXIT, |pipe, chunk| Ok(nix::unistd::read(pipe, chunk)?));
    }

    fn take(
        &mut self,
        rounds: usize,
        read: impl Fn(&pipe::Receiver, &mut [u8]) -> io::Result<usize>,
    ) {
        let mut chunk = [0; READ_CHUNK_BYTES];
        for _ in 0..rounds {
            let Some(pipe) = &self.pipe else { return };
            match read(pipe, &mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(length) => self.keep(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.pipe = None,
            }
        }
    }

    fn keep(&self, chunk: &[u8]) {
        self.tail.lock().push(chunk);
        if let Some(sink) = &self.sink {
            sink.write(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, MAX_TAIL_BYTES, StderrTail};

    fn tail(chunks: &[&[u8]]) -> StderrTail {
        let mut tail = StderrTail::default();
        for chunk in chunks {
            tail.push(chunk);
        }
        tail
    }

    #[test]
    fn keeps_the_last_bytes_however_they_come() {
        let whole: Vec<u8> =
            (0..3 * MAX_TAIL_BYTES).map(|i| b'a' + u8::try_from(i % 23).unwrap()).collect();
        for size in [1000, MAX_TAIL_BYTES, MAX_TAIL_BYTES + 1, 3 * MAX_TAIL_BYTES] {
            let chunks: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(
                tail(&chunks).text().as_bytes(),
                &whole[2 * MAX_TAIL_BYTES..],
                "chunks of {size}"
            );
        }
    }

    #[test]
    fn a_redaction_sees_what_came_in_parts() {
        let mut tail = tail(&[b"token hun", b"ter2!\n"]);
        tail.redaction = Some(Arc::new(|text| text.replace("hunter2!", "***")));
        assert_eq!(tail.text(), "token ***\n");
    }

    #[test]
    fn never_shows_half_a_character() {
        let check = |chunks: &[&[u8]], text: &str| assert_eq!(tail(chunks).text(), text);
        check(&["grün".as_bytes()], "grün");
        check(&[b"gr\xC3"], "gr");
        check(&[b"gr\xC3", b"\xBCn"], "grün");
        check(&[b"a\xFFb"], "a\u{FFFD}b");
        check(&[b"ab\xFF"], "ab\u{FFFD}");
        check(&[b"\x80a"], "\u{FFFD}a");

        let long = "€".repeat(MAX_TAIL_BYTES / 3 + 1);
        let text = tail(&[long.as_bytes()]).text();
        assert!(text.chars().all(|c| c == '€') && text.len() > MAX_TAIL_BYTES - 3);
    }
}
