//! What is left of an event that cannot be given: whose message it was.
//!
//! The bytes are thrown away as they come; only the id of the message in them is looked for.

use crate::envelope::{Salvage, Salvager};

const DATA: &[u8] = b"data:";

/// An event that is being thrown away.
#[derive(Debug, Default)]
pub(super) struct Skip {
    salvager: Salvager,
    /// The beginning of the current line, as long as its field's name can be.
    name: Vec<u8>,
}

impl Skip {
    /// One that begins with data that was kept so far.
    pub(super) fn after(data: &[u8]) -> Self {
        let mut skip = Self::default();
        skip.salvager.feed(data);
        skip
    }

    /// Bytes of the current line.
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        let missing = (DATA.len() - self.name.len()).min(bytes.len());
        let (name, rest) = bytes.split_at(missing);
        self.name.extend_from_slice(name);
        if self.name == DATA {
            self.salvager.feed(rest);
        }
    }

    /// Bytes of data, without their field's name.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        self.salvager.feed(bytes);
    }

    pub(super) fn end_line(&mut self) {
        self.name.clear();
    }

    /// What is known of the message now that the event is over.
    pub(super) fn finish(self) -> Salvage {
        self.salvager.finish()
    }
}
