//! How many bytes the requests of one client may hold in memory at once.
//!
//! [`serve`](super::serve) charges every request while it is answered, and the HTTP faces charge bodies and large
//! answers. Sessions of one principal share a budget, so that opening more of them gives no more room. What a budget is
//! spent on is not known here.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// A number of bytes that several requests share. Clones share it.
#[derive(Debug, Clone)]
pub struct ByteBudget(Arc<SharedBudget>);

#[derive(Debug)]
struct SharedBudget {
    held: AtomicUsize,
    max_bytes: usize,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub struct ByteCharge {
    budget: ByteBudget,
    bytes: usize,
}

// === impl ByteBudget ===

impl ByteBudget {
    /// Room for one client that sends large requests side by side.
    pub const DEFAULT_BYTES: usize = 256 << 20;

    /// A budget of so many bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self(Arc::new(SharedBudget { held: AtomicUsize::new(0), max_bytes }))
    }

    /// Holds `bytes`, if there is room for them.
    pub fn charge(&self, bytes: usize) -> Option<ByteCharge> {
        let mut charge = ByteCharge { budget: self.clone(), bytes: 0 };
        charge.grow(bytes).then_some(charge)
    }

    /// Whether nobody else shares it, so that nothing is held either.
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
    /// Holds `bytes` more; `false`, and no more than before, if there is no room for them.
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

    /// Gives back `bytes` of those that it holds.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.budget.0.held.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
    }

    /// Gives back everything that it holds.
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
