//! The memory budget of each principal, shared by all its sessions and connections.
//!
//! Used by the faces through `face`. The accounting is in `wire::server::ByteBudget`; it does not limit the rate
//! (`access_control::rate`).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use switchboard_wire::server::ByteBudget;

/// Unused budgets are dropped when there are more than this.
const MAX_REMEMBERED: usize = 4096;

/// The budgets of all principals.
#[derive(Debug)]
pub(super) struct Budgets {
    max_bytes: usize,
    budgets: Mutex<HashMap<Arc<str>, ByteBudget>>,
}

// === impl Budgets ===

impl Budgets {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, budgets: Mutex::default() }
    }

    /// The budget that all requests of a principal share.
    pub(super) fn of(&self, principal: &Arc<str>) -> ByteBudget {
        let mut budgets = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = budgets.get(principal) {
            return budget.clone();
        }
        if budgets.len() >= MAX_REMEMBERED {
            budgets.retain(|_, budget| !budget.is_unused());
        }
        let budget = ByteBudget::new(self.max_bytes);
        budgets.insert(Arc::clone(principal), budget.clone());
        budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_and_keeps_it_while_it_is_used() {
        let budgets = Budgets::new(10);
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        let held = budgets.of(&ann).charge(10).unwrap();
        assert!(budgets.of(&ann).charge(1).is_none());
        assert!(budgets.of(&bob).charge(10).is_some());
        for number in 0..2 * MAX_REMEMBERED {
            budgets.of(&Arc::from(number.to_string()));
        }
        assert!(budgets.of(&ann).charge(1).is_none(), "what is held is not forgotten");
        assert!(budgets.budgets.lock().unwrap().len() <= MAX_REMEMBERED);
        drop(held);
    }
}
