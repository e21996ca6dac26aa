//! A `HashMap` with a fast hasher that is not DoS-resistant.
//!
//! Used by both kinds of session for ids of running requests. Ids of our own calls count up; a client that chooses
//! colliding ids only slows down its own few running requests. Maps that several peers share, or that grow, must use
//! the standard hasher.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map with the fast hasher.
pub(crate) type SpreadMap<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// The hasher of one key.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        // The golden ratio of the range: it moves neighbouring numbers far apart, in the high and the low bits.
        const RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(RATIO);
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.write_u8(*byte);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A hash table uses the lowest bits for the slot and the highest seven to tell entries apart.
    #[test]
    fn numbers_in_a_row_are_spread() {
        let hashes: Vec<u64> = (0..128)
            .map(|number| {
                let mut hash = Spread::default();
                hash.write_u64(number);
                hash.finish()
            })
            .collect();
        let low: HashSet<_> = hashes.iter().map(|hash| hash & 127).collect();
        let high: HashSet<_> = hashes.iter().map(|hash| hash >> 57).collect();
        assert_eq!(low.len(), 128);
        assert!(high.len() > 64, "{}", high.len());
    }
}
