//! The fields of one server-sent event while its lines arrive.
//!
//! Used by the parser in `sse`. It does not split lines.

use std::mem;
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use memchr::memchr;

use super::{SkippedEvent, SseEvent};

/// The fields of the event under construction.
#[derive(Debug, Default)]
pub(super) struct EventFields {
    /// The number of bytes in its lines so far.
    pub(super) size: usize,
    event: Option<ByteString>,
    data: EventData,
    pub(super) id: Option<ByteString>,
    broken: bool,
    /// The skipped remains of data that is not UTF-8.
    lost: Option<SkippedEvent>,
}

#[derive(Debug, Default)]
enum EventData {
    #[default]
    None,
    Line(ByteString),
    Lines(String),
}

// === impl EventFields ===

impl EventFields {
    pub(super) fn with_id(id: Option<ByteString>) -> Self {
        Self { id, ..Self::default() }
    }

    /// Adds one line that is neither blank nor a comment. Returns the reconnection time from a
    /// `retry` line.
    pub(super) fn add(&mut self, line: &Bytes) -> Option<Duration> {
        let (name, value) = split_field(line);
        match name {
            b"data" => self.add_data(&value),
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

    /// The data so far.
    pub(super) fn data(&self) -> &[u8] {
        match &self.data {
            EventData::None => b"",
            EventData::Line(line) => line.as_bytes(),
            EventData::Lines(lines) => lines.as_bytes(),
        }
    }

    fn add_data(&mut self, value: &Bytes) {
        if let Some(lost) = &mut self.lost {
            return lost.data(value);
        }
        let Some(line) = self.text(value.clone()) else {
            let mut lost = SkippedEvent::after(self.data());
            lost.data(value);
            self.lost = Some(lost);
            return;
        };
        self.data = match mem::take(&mut self.data) {
            EventData::None => EventData::Line(line),
            EventData::Line(first) => EventData::Lines([&first, "\n", &line].concat()),
            EventData::Lines(lines) => EventData::Lines(lines + "\n" + &line),
        };
    }

    /// The remains of the event if one of its fields is not UTF-8.
    pub(super) fn broken(&mut self) -> Option<SkippedEvent> {
        let lost = self.lost.take();
        self.broken.then(|| lost.unwrap_or_else(|| SkippedEvent::after(self.data())))
    }

    /// The event; `None` if it has neither data nor id.
    pub(super) fn finish(self) -> Option<SseEvent> {
        let data = match self.data {
            EventData::None if self.id.is_none() => return None,
            EventData::None => ByteString::new(),
            EventData::Line(line) => line,
            EventData::Lines(lines) => lines.into(),
        };
        let event = self.event.filter(|name| !name.is_empty());
        Some(SseEvent { event, data, id: self.id })
    }
}

/// Splits a line into name and value, without one space after the colon.
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
