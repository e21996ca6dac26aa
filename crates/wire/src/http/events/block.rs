//! The fields of one event, as its lines come in.

use std::mem;
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use memchr::memchr;

use super::{Event, EventError, Outcome};

/// The fields of the event under construction.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The bytes of its lines so far.
    pub(super) size: usize,
    event: Option<ByteString>,
    data: Data,
    pub(super) id: Option<ByteString>,
    broken: bool,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    Line(ByteString),
    Lines(String),
}

// === impl Block ===

impl Block {
    pub(super) fn with_id(id: Option<ByteString>) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// Takes one line that is neither blank nor a comment; gives the reconnection time if it is that.
    pub(super) fn add(&mut self, line: &Bytes) -> Option<Duration> {
        let (name, value) = split_field(line);
        match name {
            b"data" => self.add_data(value),
            b"event" => self.event = self.text(value),
            b"id" if memchr(0, &value).is_none() => {
                self.id = self.text(value).or_else(|| self.id.take());
            }
            b"retry" => return milliseconds(&value),
            _ => {}
        }
        None
    }

    fn text(&mut self, value: Bytes) -> Option<ByteString> {
        let text = ByteString::try_from(value).ok();
        self.broken |= text.is_none();
        text
    }

    fn add_data(&mut self, value: Bytes) {
        let Some(line) = self.text(value) else { return };
        self.data = match mem::take(&mut self.data) {
            Data::None => Data::Line(line),
            Data::Line(first) => Data::Lines([&first, "\n", &line].concat()),
            Data::Lines(lines) => Data::Lines(lines + "\n" + &line),
        };
    }

    /// The event, unless there is nothing to report.
    pub(super) fn finish(self) -> Outcome {
        let data = match self.data {
            _ if self.broken => return Some(Err(EventError::NotUtf8)),
            Data::None if self.id.is_none() => return None,
            Data::None => ByteString::new(),
            Data::Line(line) => line,
            Data::Lines(lines) => lines.into(),
        };
        let event = self.event.filter(|name| !name.is_empty());
        Some(Ok(Event {
            event,
            data,
            id: self.id,
        }))
    }
}

/// Name and value of a line that is neither blank nor a comment; one space after the colon goes.
fn split_field(line: &Bytes) -> (&[u8], Bytes) {
    let Some(colon) = memchr(b':', line) else {
        return (line, Bytes::new());
    };
    let space = usize::from(line.get(colon + 1) == Some(&b' '));
    (&line[..colon], line.slice(colon + 1 + space..))
}

fn milliseconds(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?;
    text.parse().ok().map(Duration::from_millis)
}
