//! Lines: however the bytes are cut, the same frames come out, and a line that is too long is one
//! error that keeps its id.
//!
//! The first two bytes of an input decide where it is cut.
#![no_main]

mod chunks;

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use libfuzzer_sys::fuzz_target;
use switchboard_wire::link::{LinkFrame, lines::LineReader};
use tokio::io::{AsyncRead, ReadBuf};

/// Small, so that inputs of ordinary size pass it.
const LIMIT: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Some((seed, input)) = chunks::seeded(data) else {
        return;
    };
    let whole = frames([input].into_iter());
    let pieces = frames(chunks::cut(input, seed));
    assert_eq!(whole, pieces);
    let shown = input
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && *line != b"\xef\xbb\xbf")
        .count();
    assert!(whole.len() <= shown + blank_but_long(input));
});

/// Lines of nothing but space are no frames, unless they are too long.
fn blank_but_long(input: &[u8]) -> usize {
    input.split(|byte| *byte == b'\n').filter(|line| line.len() > LIMIT).count()
}

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let source = Pieces(pieces.map(<[u8]>::to_vec).collect());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut reader = LineReader::new(source, LIMIT);
        let mut seen = Vec::new();
        while let Some(frame) = reader.next().await.unwrap() {
            seen.push(match frame {
                LinkFrame::Text(text) => text.to_string(),
                LinkFrame::Broken(malformed) => format!("{malformed:?}"),
            });
        }
        seen
    })
}

/// Gives one piece for each read.
struct Pieces(VecDeque<Vec<u8>>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}
