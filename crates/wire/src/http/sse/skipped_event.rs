//! A skipped event: its bytes are discarded, and only the id of the message in them is searched
//! for.
//!
//! Used by `sse` and `event_fields` for events that are too large or not UTF-8. The search itself
//! is in `envelope::salvage`.

use crate::envelope::{EnvelopeSalvager, SalvagedEnvelope};

const DATA_FIELD: &[u8] = b"data:";

/// An event of which all bytes are discarded.
#[derive(Debug, Default)]
pub(super) struct SkippedEvent {
    salvager: EnvelopeSalvager,
    /// The beginning of the current line, up to the longest field name.
    name: Vec<u8>,
}

impl SkippedEvent {
    /// A skipped event that begins with data kept so far.
    pub(super) fn after(data: &[u8]) -> Self {
        let mut skip = Self::default();
        skip.salvager.feed(data);
        skip
    }

    /// Adds bytes of the current line.
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        let missing = (DATA_FIELD.len() - self.name.len()).min(bytes.len());
        let (name, rest) = bytes.split_at(missing);
        self.name.extend_from_slice(name);
        if self.name == DATA_FIELD {
            self.salvager.feed(rest);
        }
    }

    /// Adds bytes of data, without the field name.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        self.salvager.feed(bytes);
    }

    pub(super) fn end_line(&mut self) {
        self.name.clear();
    }

    /// The salvaged envelope, at the end of the event.
    pub(super) fn finish(self) -> SalvagedEnvelope {
        self.salvager.finish()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::{SseEvent, SseEventError, SseParser};

    /// All events in `input`, fed in pieces of `step` bytes: data, or the salvaged id.
    fn outcomes(input: &[u8], step: usize) -> Vec<String> {
        let mut parser = SseParser::new(40);
        let mut seen = Vec::new();
        let mut lost = false;
        for piece in input.chunks(step) {
            parser.feed(Bytes::copy_from_slice(piece));
            loop {
                if lost {
                    let Some(salvage) = parser.salvage() else {
                        break;
                    };
                    seen.push(format!("lost {:?}", salvage.id));
                    lost = false;
                }
                match parser.next_event() {
                    None => break,
                    Some(Ok(SseEvent { data, .. })) => seen.push(data.to_string()),
                    Some(Err(SseEventError::TooLarge { .. } | SseEventError::NotUtf8)) => {
                        lost = true;
                    }
                }
            }
        }
        seen
    }

    #[test]
    fn the_id_is_found_however_the_event_is_cut() {
        let long = "x".repeat(100);
        let input = [
            format!("data: {{\"result\":\"{long}\",\ndata:\"id\":7}}\nid: 1\n\ndata: a\n\n").as_bytes(),
            format!(": c\ndata: {{\"id\":8,\r\nother: \"id\":9,\r\ndata: \"result\":\"{long}\"}}\r\n\r\n")
                .as_bytes(),
            b"data: {\"error\":{},\ndata: \"x\":\"\xff\",\ndata: \"id\":9}\n\ndata: b\n\n",
            b"event: \xff\ndata: {\"id\":3,\"result\":1}\n\n",
            format!("{long}\n\ndata: c\n\n").as_bytes(),
        ]
        .concat();
        for step in [1, 2, 3, 7, 50, 1000] {
            assert_eq!(
                outcomes(&input, step),
                [
                    "lost Some(7)",
                    "a",
                    "lost Some(8)",
                    "lost Some(9)",
                    "b",
                    "lost Some(3)",
                    "lost None",
                    "c"
                ],
                "in pieces of {step}"
            );
        }
    }
}
