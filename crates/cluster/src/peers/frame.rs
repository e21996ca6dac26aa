//! One message between two replicas, before it is sealed.
//!
//! Used by `peers`. It sends nothing.

use std::fmt;

use bytes::Bytes;

use crate::ClusterError;
use crate::heartbeat::now_millis;

/// The version of frames. A program reads its own and the earlier ones, and refuses later ones: it does not know what they
/// ask.
const VERSION: u8 = 1;
/// Version, kind, number, time.
const HEADER_BYTES: usize = 1 + 1 + 8 + 8;

/// The name of an exchange: random.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ExchangeId(pub(super) [u8; 16]);

/// One message of an exchange.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    /// The place among the frames with data; of an acknowledgement, how many were read; of a sign of life, which one it is.
    pub(super) number: u64,
    /// Milliseconds since 1970, by the sender's clock.
    pub(super) sent: u64,
    pub(super) payload: Bytes,
}

/// What a frame is. The numbers are part of what replicas send: they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Opens an exchange; it holds the name of the replica that asks.
    Open = 1,
    /// A piece.
    Data = 2,
    /// The last piece was sent.
    End = 3,
    /// So many pieces were read.
    Ack = 4,
    /// The sender is alive, and has nothing to send yet.
    Alive = 5,
    /// The sender ends the exchange.
    Stop = 6,
    /// A notice to all replicas.
    Notice = 7,
    /// NATS says that no replica of that name is connected.
    Gone = 8,
}

// === impl ExchangeId ===

impl ExchangeId {
    pub(super) fn random() -> Result<Self, ClusterError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| ClusterError::Random)?;
        Ok(Self(bytes))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32)?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for ExchangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

// === impl Frame ===

impl Frame {
    pub(super) fn new(kind: FrameKind, number: u64, payload: Bytes) -> Self {
        Self { kind, number, sent: now_millis(), payload }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.payload.len());
        bytes.extend([VERSION, self.kind as u8]);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.sent.to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ([VERSION, kind], rest) = bytes.split_first_chunk()? else { return None };
        let (number, rest) = rest.split_first_chunk()?;
        let (sent, payload) = rest.split_first_chunk()?;
        Some(Self {
            kind: FrameKind::of_byte(*kind)?,
            number: u64::from_le_bytes(*number),
            sent: u64::from_le_bytes(*sent),
            payload: Bytes::copy_from_slice(payload),
        })
    }
}

// === impl FrameKind ===

impl FrameKind {
    /// The kind that a replica sent. `Gone` is none: NATS says that.
    fn of_byte(byte: u8) -> Option<Self> {
        let sent =
            [Self::Open, Self::Data, Self::End, Self::Ack, Self::Alive, Self::Stop, Self::Notice];
        sent.into_iter().find(|kind| *kind as u8 == byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let frame = Frame::new(FrameKind::Data, 7, Bytes::from_static(b"text"));
        let bytes = frame.to_bytes();
        let read = Frame::from_bytes(&bytes).unwrap();
        assert_eq!((read.kind, read.number, read.sent), (FrameKind::Data, 7, frame.sent));
        assert_eq!(read.payload, "text");
        for length in 0..HEADER_BYTES {
            assert!(Frame::from_bytes(&bytes[..length]).is_none(), "{length}");
        }
        for (at, byte) in [(0, 2), (1, 0), (1, 8), (1, 99)] {
            let mut odd = bytes.clone();
            odd[at] = byte;
            assert!(Frame::from_bytes(&odd).is_none(), "{byte} at {at}");
        }
    }

    /// The bytes of the first version, which replicas of all later ones read.
    #[test]
    fn the_first_version_stays_readable() {
        let kinds = [
            (1, FrameKind::Open),
            (2, FrameKind::Data),
            (3, FrameKind::End),
            (4, FrameKind::Ack),
            (5, FrameKind::Alive),
            (6, FrameKind::Stop),
            (7, FrameKind::Notice),
        ];
        for (byte, kind) in kinds {
            let bytes =
                [&[1, byte, 9, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0, 0, 0][..], b"x"].concat();
            let frame = Frame::from_bytes(&bytes).unwrap();
            assert_eq!((frame.kind, frame.number, frame.sent), (kind, 9, 263));
            assert_eq!(frame.payload, "x");
        }
    }

    #[test]
    fn an_id_is_32_digits() {
        let id = ExchangeId([0xab; 16]);
        assert_eq!(ExchangeId::parse(&id.to_string()).map(|id| id.0), Some(id.0));
        for odd in ["", "ab", &"x".repeat(32), &"a".repeat(33)] {
            assert!(ExchangeId::parse(odd).is_none(), "{odd}");
        }
    }
}
