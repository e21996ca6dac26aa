//! The fields of one event, as its lines come in.

use std::mem;
use std::time::Duration;

use bytes::Bytes;
use bytestring::ByteString;
use memchr::memchr;

use super::{Event, Skip};

/// The fields of the event under construction.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The bytes of its lines so far.
    pub(super) size: usize,
    event: Option<ByteString>,
    data: Data,
    pub(super) id: Option<ByteString>,
    broken: bool,
    /// Data that is not UTF-8, thrown away.
    lost: Option<Skip>,
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
        Self { id, ..Self::default() }
    }

    /// Takes one line that is neither blank nor a comment; gives the reconnection time if it is that.
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
            Data::None => b"",
            Data::Line(line) => line.as_bytes(),
            Data::Lines(lines) => lines.as_bytes(),
        }
    }

    fn add_data(&mut self, value: &Bytes) {
        if let Some(lost) = &mut self.lost {
            return lost.data(value);
        }
        let Some(line) = self.text(value.clone()) else {
            let mut lost = Skip::after(self.data());
            lost.data(value);
            self.lost = Some(lost);
            return;
        };
        self.data = match mem::take(&mut self.data) {
            Data::None => Data::Line(line),
            Data::Line(first) => Data::Lines([&first, "\n", &line].concat()),
            Data::Lines(lines) => Data::Lines(lines + "\n" + &line),
        };
    }

    /// What is left of the event if a field of it is not UTF-8.
    pub(super) fn broken(&mut self) -> Option<Skip> {
        let lost = self.lost.take();
        self.broken.then(|| lost.unwrap_or_else(|| Skip::after(self.data())))
    }

    /// The event, unless there is nothing to report.
    pub(super) fn finish(self) -> Option<Event> {
        let data = match self.data {
            Data::None if self.id.is_none() => return None,
            Data::None => ByteString::new(),
            Data::Line(line) => line,
            Data::Lines(lines) => lines.into(),
        };
        let event = self.event.filter(|name| !name.is_empty());
        Some(Event { event, data, id: self.id })
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
