//! A byte budget: how many bytes the requests of one client may hold in memory at once.
//!
//! Used by [`serve`](super::serve), which charges each request while it runs, and by the HTTP faces, which charge
//! bodies and large answers. Sessions of one principal share a budget, so that more sessions give no more room. It
//! does not know the contents.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// A number of bytes that several requests share. Clones share the budget.
#[derive(Debug, Clone)]
pub struct ByteBudget(Arc<SharedBudget>);

#[derive(Debug)]
struct SharedBudget {
    held: AtomicUsize,
    max_bytes: usize,
}

/// Bytes that are reserved until this value is dropped.
#[derive(Debug)]
pub struct ByteCharge {
    budget: ByteBudget,
    bytes: usize,
}

// === impl ByteBudget ===

impl ByteBudget {
    /// Room for one client that sends large requests concurrently.
    pub const DEFAULT_BYTES: usize = 256 << 20;

    /// A budget of `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self(Arc::new(SharedBudget { held: AtomicUsize::new(0), max_bytes }))
    }

    /// Reserves `bytes`. Returns `None` if there is no room.
    pub fn charge(&self, bytes: usize) -> Option<ByteCharge> {
        let mut charge = ByteCharge { budget: self.clone(), bytes: 0 };
        charge.grow(bytes).then_some(charge)
    }

    /// Whether the budget has no other clone, and so no charge.
    pub fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl Default for ByteBudget {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

// === impl ByteCharge ===

impl ByteCharge {
    /// Reserves `bytes` more. Returns `false` and reserves none if there is no room.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let SharedBudget { held, max_bytes } = &*self.budget.0;
        let taken = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            held.checked_add(bytes).filter(|held| held <= max_bytes)
        });
        if taken.is_ok() {
            self.bytes += bytes;
        }
        taken.is_ok()
    }

    /// Releases `bytes` of the charge.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.budget.0.held.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
    }

    /// Releases the whole charge.
    pub fn clear(&mut self) {
        self.shrink(self.bytes);
    }
}

impl Drop for ByteCharge {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_held_once_and_given_back() {
        let budget = ByteBudget::new(100);
        let mut first = budget.charge(60).unwrap();
        assert!(budget.charge(41).is_none());
        assert!(!first.grow(41) && first.grow(10));
        let second = budget.clone().charge(30).unwrap();
        assert!(budget.charge(1).is_none(), "clones share it");
        first.shrink(5);
        assert!(budget.charge(6).is_none() && budget.charge(5).is_some());
        drop(first);
        assert!(budget.charge(71).is_none() && budget.charge(70).is_some());
        drop(second);
        assert!(budget.charge(100).is_some() && budget.is_unused());
        assert!(budget.charge(usize::MAX).is_none());
    }
}
