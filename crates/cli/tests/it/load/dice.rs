//! Test helper: reproducible random numbers, so that a failure can be repeated. Used by `load`.

/// Throws of one client.
pub(super) struct Dice(u64);

// === impl Dice ===

impl Dice {
    pub(super) fn of(client: usize) -> Self {
        Self((client as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `sides`.
    pub(super) fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}
