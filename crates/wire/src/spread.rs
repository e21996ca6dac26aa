//! Maps whose keys nobody can use against us, with a hash that costs next to nothing.
//!
//! The hash of the standard library withstands whoever chooses the keys. The numbers of our own calls we count up
//! ourselves; and a client that chooses the ids of its own requests so that they collide makes its own few requests
//! under way slower, and nobody else's. Nothing that several peers share, and nothing that grows, belongs in here.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map by such a key.
pub(crate) type SpreadMap<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// The hash of one key.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        // The golden ratio of the range: neighbours come to lie far apart, in the high bits and in the low ones.
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

    /// A table looks at the lowest bits for the place and at the highest seven to tell neighbours apart.
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
